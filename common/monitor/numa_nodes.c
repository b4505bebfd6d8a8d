#include "numa_nodes.h"

#include <hwloc/distances.h>
#include <stdbool.h>
#include <stdint.h>

/* Whether this process may use a PU of a NUMA node. */
static bool has_own_pu(const struct numalab_node *node, int number)
{
    hwloc_obj_t pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_PU, pu)))
        if (numalab_node_of_pus(node, pu->cpuset) == number) return true;
    return false;
}

/* Whether Linux gives a NUMA node a PU, whoever may use that. */
static bool has_pu(const struct numalab_node *node, int number)
{
    for (size_t i = 0; i < node->map.pus; i++)
        if (node->map.node_of_pu[i] == number) return true;
    return false;
}

static hwloc_obj_t hwlocs(const struct numalab_node *node, int number)
{
    return hwloc_get_numanode_obj_by_os_index(node->topology, (unsigned)number);
}

/* The next of those NUMA nodes that have PUs and that hwloc leaves out, since they have no memory
 * or since this process may use none of it; the first behind -1. -1: there is none more. */
static int next_left_out(const struct numalab_node *node, int number)
{
    for (size_t i = 0; i < node->map.nodes; i++) {
        const int next = node->map.numbers[i];
        if (next > number && !hwlocs(node, next) && has_pu(node, next)) return next;
    }
    return -1;
}

/* Whether it has PUs, and none that this process may use. */
static bool is_not_allowed(const struct numalab_node *node, int number)
{
    if (has_own_pu(node, number)) return false;
    hwloc_obj_t numa_node = hwlocs(node, number);
    return has_pu(node, number) || (numa_node && hwloc_bitmap_iszero(numa_node->cpuset) &&
                                    !hwloc_bitmap_iszero(numa_node->complete_cpuset));
}

static json_t *describe_numa_node(const struct numalab_node *node, int number, uint64_t bytes)
{
    return json_pack("{si sI sb}", "numa_node", number, "memory_bytes", (json_int_t)bytes,
                     "not_allowed", is_not_allowed(node, number));
}

json_t *numalab_describe_numa_nodes(const struct numalab_node *node)
{
    json_t *list = json_array();
    hwloc_obj_t one = NULL;
    while ((one = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_NUMANODE, one)))
        json_array_append_new(
            list, describe_numa_node(node, (int)one->os_index, one->attr->numanode.local_memory));
    for (int number = -1; (number = next_left_out(node, number)) >= 0;)
        json_array_append_new(list, describe_numa_node(node, number, 0));
    return list;
}

static int index_in(const struct hwloc_distances_s *distances, hwloc_obj_t numa_node)
{
    for (unsigned i = 0; i < distances->nbobjs; i++)
        if (distances->objs[i] == numa_node) return (int)i;
    return -1;
}

/* The SLIT by Linux's own words, which has the NUMA nodes that hwloc leaves out. null where it has
 * not all of those that are listed. */
static json_t *distances_of_linux(const struct numalab_node *node, const json_t *listed)
{
    json_t *rows = json_array();
    size_t i, j;
    const json_t *from, *to;
    json_array_foreach(listed, i, from)
    {
        json_t *row = json_array();
        json_array_foreach(listed, j, to)
        {
            const int distance = numalab_numa_map_distance(
                &node->map, (int)json_integer_value(json_object_get(from, "numa_node")),
                (int)json_integer_value(json_object_get(to, "numa_node")));
            if (distance < 0) {
                json_decref(row);
                json_decref(rows);
                return json_null();
            }
            json_array_append_new(row, json_integer(distance));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

json_t *numalab_describe_distances(const struct numalab_node *node, const json_t *listed)
{
    unsigned count = 1;
    struct hwloc_distances_s *distances;
    if (next_left_out(node, -1) >= 0) return distances_of_linux(node, listed);
    if (hwloc_distances_get_by_name(node->topology, "NUMALatency", &count, &distances, 0) < 0 ||
        count == 0)
        return json_null();
    json_t *rows = json_array();
    hwloc_obj_t from = NULL, to = NULL;
    while ((from = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_NUMANODE, from))) {
        json_t *row = json_array();
        while ((to = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_NUMANODE, to))) {
            const int i = index_in(distances, from), j = index_in(distances, to);
            if (i < 0 || j < 0) continue; /* of a node that the matrix leaves out */
            const unsigned at = (unsigned)i * distances->nbobjs + (unsigned)j;
            json_array_append_new(row, json_integer((json_int_t)distances->values[at]));
        }
        json_array_append_new(rows, row);
    }
    hwloc_distances_release(node->topology, distances);
    return rows;
}
