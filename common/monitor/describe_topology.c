/* Prints what hwloc reads in an export or in a synthetic description of a machine, as JSON in one
 * line.
 *
 *     describe_topology xml FILE
 *     describe_topology synthetic TEXT
 *
 * Sets of PUs are lists of Linux's numbers (os_index) in ascending order, sizes are in bytes. What
 * the machine's system had disallowed is there; "allowed" and "complete" tell. A failure is a
 * sentence on stderr, after what hwloc says itself where HWLOC_XML_VERBOSE or
 * HWLOC_SYNTHETIC_VERBOSE is set; then the exit code is 1. */
#include <errno.h>
#include <hwloc.h>
#include <hwloc/cpukinds.h>
#include <hwloc/distances.h>
#include <hwloc/memattrs.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers in a set; null where it is infinite or not there. */
static json_t *numbers_in(hwloc_const_bitmap_t set)
{
    if (!set || hwloc_bitmap_weight(set) < 0) return json_null();
    json_t *list = json_array();
    for (int number = hwloc_bitmap_first(set); number >= 0; number = hwloc_bitmap_next(set, number))
        json_array_append_new(list, json_integer(number));
    return list;
}

static json_t *number_or_null(unsigned number)
{
    return number == HWLOC_UNKNOWN_INDEX ? json_null() : json_integer((json_int_t)number);
}

/* Bytes of other encodings than UTF-8 are no text in JSON: then null. */
static json_t *text_or_null(const char *text)
{
    json_t *found = text ? json_string(text) : NULL;
    return found ? found : json_null();
}

static json_t *describe_infos(const struct hwloc_info_s *infos, unsigned count)
{
    json_t *found = json_object();
    for (unsigned i = 0; i < count; i++) {
        json_t *value = json_string(infos[i].value);
        if (value && !json_object_get(found, infos[i].name))
            json_object_set_new(found, infos[i].name, value);
        else
            json_decref(value);
    }
    return found;
}

static json_t *infos_of(hwloc_obj_t object)
{
#if HWLOC_API_VERSION >= 0x00030000
    return describe_infos(object->infos.array, object->infos.count);
#else
    return describe_infos(object->infos, object->infos_count);
#endif
}

/* Those of the whole machine; hwloc 3 keeps them apart from the first object's. */
static json_t *infos_of_machine(hwloc_topology_t topology)
{
    json_t *found = infos_of(hwloc_get_root_obj(topology));
#if HWLOC_API_VERSION >= 0x00030000
    struct hwloc_infos_s *infos = hwloc_topology_get_infos(topology);
    json_t *more = describe_infos(infos->array, infos->count);
    json_object_update_missing(found, more);
    json_decref(more);
#endif
    return found;
}

/* All objects of a type, in hwloc's order: their PUs, number and infos, and for caches their size.
 */
static json_t *describe_objects(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    json_t *list = json_array();
    hwloc_obj_t object = NULL;
    while ((object = hwloc_get_next_obj_by_type(topology, type, object))) {
        json_t *one = json_pack("{so so so}", "pus", numbers_in(object->cpuset), "number",
                                number_or_null(object->os_index), "infos", infos_of(object));
        if (hwloc_obj_type_is_cache(type))
            json_object_set_new(one, "bytes", json_integer((json_int_t)object->attr->cache.size));
        json_array_append_new(list, one);
    }
    return list;
}

/* The sizes of the caches between a memory and who uses it, the one next to the memory first. */
static json_t *describe_memory_side_caches(hwloc_obj_t numa_node)
{
    json_t *list = json_array();
    for (hwloc_obj_t above = numa_node->parent; above && above->type == HWLOC_OBJ_MEMCACHE;
         above = above->parent)
        json_array_append_new(list, json_integer((json_int_t)above->attr->cache.size));
    return list;
}

static json_t *describe_numa_nodes(hwloc_topology_t topology)
{
    json_t *list = json_array();
    hwloc_obj_t node = NULL;
    while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)))
        json_array_append_new(
            list,
            json_pack("{so so so sI so so so}", "number", number_or_null(node->os_index), "pus",
                      numbers_in(node->cpuset), "complete", numbers_in(node->complete_cpuset),
                      "memory_bytes", (json_int_t)node->attr->numanode.local_memory, "kind",
                      text_or_null(node->subtype), "infos", infos_of(node), "memory_side_caches",
                      describe_memory_side_caches(node)));
    return list;
}

/* The kinds of cores, the least efficient first, as far as the system told of them. */
static json_t *describe_core_kinds(hwloc_topology_t topology)
{
    const int count = hwloc_cpukinds_get_nr(topology, 0);
    hwloc_bitmap_t pus = hwloc_bitmap_alloc();
    json_t *list = json_array();
    for (unsigned kind = 0; pus && (int)kind < count; kind++) {
        int efficiency = -1;
#if HWLOC_API_VERSION >= 0x00030000
        struct hwloc_infos_s *infos = NULL;
        if (hwloc_cpukinds_get_info(topology, kind, pus, &efficiency, &infos, 0) < 0) continue;
        json_t *told = infos ? describe_infos(infos->array, infos->count) : json_object();
#else
        unsigned infos_count = 0;
        struct hwloc_info_s *infos = NULL;
        if (hwloc_cpukinds_get_info(topology, kind, pus, &efficiency, &infos_count, &infos, 0) < 0)
            continue;
        json_t *told = describe_infos(infos, infos_count);
#endif
        json_array_append_new(list, json_pack("{so si so}", "pus", numbers_in(pus), "efficiency",
                                              efficiency, "infos", told));
    }
    hwloc_bitmap_free(pus);
    return list;
}

/* What the system measured or announced of memories, such as "Bandwidth" in MiB/s and "Latency" in
 * ns: for each NUMA node the best value that any initiator has; without those that follow from the
 * topology itself. */
static json_t *describe_memory_attributes(hwloc_topology_t topology)
{
    json_t *list = json_array();
    for (hwloc_memattr_id_t id = HWLOC_MEMATTR_ID_BANDWIDTH;; id++) {
        const char *name = NULL;
        if (hwloc_memattr_get_name(topology, id, &name) < 0) return list;
        json_t *values = json_array();
        hwloc_obj_t node = NULL;
        while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))) {
            struct hwloc_location best;
            hwloc_uint64_t value = 0;
            unsigned long flags = 0;
            hwloc_memattr_get_flags(topology, id, &flags);
            const int error =
                flags & HWLOC_MEMATTR_FLAG_NEED_INITIATOR
                    ? hwloc_memattr_get_best_initiator(topology, id, node, 0, &best, &value)
                    : hwloc_memattr_get_value(topology, id, node, NULL, 0, &value);
            if (error == 0)
                json_array_append_new(values, json_pack("{so sI}", "numa_node",
                                                        number_or_null(node->os_index), "value",
                                                        (json_int_t)value));
        }
        if (json_array_size(values) > 0)
            json_array_append_new(list, json_pack("{ss so}", "name", name, "values", values));
        else
            json_decref(values);
    }
}

/* The SLIT, row by row, and which NUMA nodes it is about; null where there is none. */
static json_t *describe_distances(hwloc_topology_t topology)
{
    unsigned count = 1;
    struct hwloc_distances_s *distances;
    if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &distances, 0) < 0 ||
        count == 0) {
        /* Exports of hwloc 1 don't name theirs. */
        count = 1;
        if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &count, &distances,
                                        HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 ||
            count == 0)
            return json_null();
    }
    json_t *numbers = json_array(), *values = json_array();
    for (unsigned i = 0; i < distances->nbobjs; i++) {
        json_array_append_new(numbers, distances->objs[i]
                                           ? number_or_null(distances->objs[i]->os_index)
                                           : json_null());
        json_t *row = json_array();
        for (unsigned j = 0; j < distances->nbobjs; j++)
            json_array_append_new(
                row, json_integer((json_int_t)distances->values[i * distances->nbobjs + j]));
        json_array_append_new(values, row);
    }
    hwloc_distances_release(topology, distances);
    return json_pack("{so so}", "numa_nodes", numbers, "values", values);
}

static json_t *describe(hwloc_topology_t topology)
{
    static const struct {
        const char *key;
        hwloc_obj_type_t type;
    } types[] = {{"packages", HWLOC_OBJ_PACKAGE},
                 {"dies", HWLOC_OBJ_DIE},
                 {"l3s", HWLOC_OBJ_L3CACHE},
                 {"cores", HWLOC_OBJ_CORE},
                 {"pus", HWLOC_OBJ_PU}};
    json_t *found = json_object();
    json_object_set_new(found, "infos", infos_of_machine(topology));
    json_object_set_new(found, "complete",
                        numbers_in(hwloc_topology_get_complete_cpuset(topology)));
    json_object_set_new(found, "allowed", numbers_in(hwloc_topology_get_allowed_cpuset(topology)));
    json_object_set_new(found, "complete_numa_nodes",
                        numbers_in(hwloc_topology_get_complete_nodeset(topology)));
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        json_object_set_new(found, types[i].key, describe_objects(topology, types[i].type));
    json_object_set_new(found, "core_kinds", describe_core_kinds(topology));
    json_object_set_new(found, "numa_nodes", describe_numa_nodes(topology));
    json_object_set_new(found, "memory_attributes", describe_memory_attributes(topology));
    json_object_set_new(found, "distances", describe_distances(topology));
    return found;
}

/* Sets where the topology is from. Returns 0, or -1 with errno. */
static int set_source(hwloc_topology_t topology, const char *kind, const char *source)
{
    if (strcmp(kind, "xml") == 0) return hwloc_topology_set_xml(topology, source);
    if (strcmp(kind, "synthetic") == 0) return hwloc_topology_set_synthetic(topology, source);
    errno = EINVAL;
    return -1;
}

/* No I/O devices; memory-side caches, which are a memory's and not between cores, too. */
static int set_filters(hwloc_topology_t topology)
{
    if (hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED) < 0) return -1;
    if (hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE) < 0) return -1;
    return hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MEMCACHE, HWLOC_TYPE_FILTER_KEEP_ALL);
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: describe_topology xml FILE | synthetic TEXT\n");
        return EXIT_FAILURE;
    }
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0) return EXIT_FAILURE;
    if (set_source(topology, arguments[1], arguments[2]) < 0 || set_filters(topology) < 0 ||
        hwloc_topology_load(topology) < 0) {
        fprintf(stderr, "hwloc %s: %s\n", HWLOC_VERSION, strerror(errno));
        hwloc_topology_destroy(topology);
        return EXIT_FAILURE;
    }
    json_t *found = describe(topology);
    const int written = json_dumpf(found, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(found);
    hwloc_topology_destroy(topology);
    return written == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
