#define _GNU_SOURCE
#include "node.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

/* This process's control group in the unified tree (version 2), or for the memory
 * controller of version 1. Empty where there is none. */
static void cgroup_of_process(const char *prefix, char *group, size_t group_bytes)
{
    char line[512];
    group[0] = '\0';
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (!file) return;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        char *start = strchr(line, ':');
        if (start && strncmp(start, prefix, strlen(prefix)) == 0)
            snprintf(group, group_bytes, "%s", start + strlen(prefix));
    }
    fclose(file);
}

/* The smallest number in a file of the group and of all above it: a limit may be set on
 * a job and not on its steps. UINT64_MAX where none limits. */
static uint64_t smallest_limit(const char *tree, char *group, const char *file)
{
    uint64_t smallest = UINT64_MAX;
    for (;;) {
        char path[768], line[64];
        snprintf(path, sizeof path, "%s%s/%s", tree, group, file);
        if (numalab_read_first_line(path, line, sizeof line) && isdigit((unsigned char)line[0])) {
            uint64_t value = strtoull(line, NULL, 10);
            if (value < smallest) smallest = value;
        }
        char *last = strrchr(group, '/');
        if (!last) return smallest;
        *last = '\0';
    }
}

uint64_t numalab_cgroup_memory_limit(void)
{
    char group[512];
    cgroup_of_process("::", group, sizeof group);
    uint64_t unified = smallest_limit("/sys/fs/cgroup", group, "memory.max");
    cgroup_of_process(":memory:", group, sizeof group);
    uint64_t first = smallest_limit("/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    return unified < first ? unified : first;
}

static uint64_t usable_memory_bytes(hwloc_topology_t topology)
{
    /* Memory plugged in later may be missing from the nodes' own totals. */
    uint64_t installed = hwloc_get_root_obj(topology)->total_memory;
    uint64_t total = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (total > installed) installed = total;
    uint64_t allowed = numalab_cgroup_memory_limit();
    return allowed < installed ? allowed : installed;
}

/* Of the first level, which all have; 64 where the system does not tell. */
static uint64_t line_bytes(hwloc_topology_t topology)
{
    const hwloc_obj_t cache = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_L1CACHE, NULL);
    return cache && cache->attr->cache.linesize ? cache->attr->cache.linesize : 64;
}

static uint64_t cache_bytes(hwloc_topology_t topology)
{
    static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L4CACHE, HWLOC_OBJ_L3CACHE,
                                              HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L1CACHE};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        uint64_t bytes = 0;
        hwloc_obj_t cache = NULL;
        while ((cache = hwloc_get_next_obj_by_type(topology, levels[i], cache)))
            bytes += cache->attr->cache.size;
        if (bytes) return bytes;
    }
    return 0;
}

/* How many there are where a page can be; 1 where the system tells of none. */
static size_t count_numa_nodes(hwloc_topology_t topology)
{
    size_t all = 0, with_memory = 0;
    hwloc_obj_t numa_node = NULL;
    while ((numa_node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, numa_node))) {
        all++;
        with_memory += numa_node->attr->numanode.local_memory > 0;
    }
    if (with_memory) return with_memory;
    return all ? all : 1;
}

/* Reads the topology. xml: of which export, NULL for the tree that hwloc is set to. */
static int load(struct numalab_node *node, const char *xml, unsigned long flags)
{
    if (hwloc_topology_init(&node->topology) < 0) return -ENOMEM;
    if ((xml && hwloc_topology_set_xml(node->topology, xml) < 0) ||
        hwloc_topology_set_flags(node->topology, flags) < 0 ||
        hwloc_topology_load(node->topology) < 0) {
        hwloc_topology_destroy(node->topology);
        node->topology = NULL;
        return -EIO;
    }
    int cores = hwloc_get_nbobjs_by_type(node->topology, HWLOC_OBJ_CORE);
    int pus = hwloc_get_nbobjs_by_type(node->topology, HWLOC_OBJ_PU);
    node->core_count = (size_t)(cores > 0 ? cores : pus);
    node->numa_node_count = count_numa_nodes(node->topology);
    node->last_level_cache_bytes = cache_bytes(node->topology);
    node->line_bytes = line_bytes(node->topology);
    node->memory_bytes = usable_memory_bytes(node->topology);
    return 0;
}

int numalab_node_open(struct numalab_node *node)
{
    memset(node, 0, sizeof *node);
    const int error = numalab_numa_map_read(&node->map, "");
    if (error < 0) return error;
    struct numalab_shown_tree tree = {0};
    if (node->map.is_hollow) numalab_show_without_numa(&tree, "");
    const int loaded = load(
        node, NULL, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM | HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
    numalab_hide_tree(&tree);
    if (loaded < 0) numalab_node_close(node);
    return loaded;
}

int numalab_node_open_recorded(struct numalab_node *node, const char *root, const char *xml)
{
    memset(node, 0, sizeof *node);
    const int error = root ? numalab_numa_map_read(&node->map, root) : 0;
    if (error < 0) return error;
    struct numalab_shown_tree tree = {0};
    if (root && !xml) {
        if (node->map.is_hollow)
            numalab_show_without_numa(&tree, root);
        else
            setenv("HWLOC_FSROOT", root, 1);
    }
    const int loaded = load(node, xml, 0);
    numalab_hide_tree(&tree);
    unsetenv("HWLOC_FSROOT");
    if (loaded < 0) numalab_node_close(node);
    return loaded;
}

void numalab_node_close(struct numalab_node *node)
{
    if (node->topology) hwloc_topology_destroy(node->topology);
    node->topology = NULL;
    numalab_numa_map_free(&node->map);
}

/* The smallest object of a type that holds every PU of the set, or NULL. */
static hwloc_obj_t covering(const struct numalab_node *node, hwloc_obj_type_t type,
                            hwloc_const_bitmap_t pus)
{
    hwloc_obj_t object = NULL, smallest = NULL;
    if (hwloc_bitmap_iszero(pus)) return NULL;
    while ((object = hwloc_get_next_obj_by_type(node->topology, type, object)))
        if (hwloc_bitmap_isincluded(pus, object->cpuset) &&
            (!smallest ||
             hwloc_bitmap_weight(object->cpuset) < hwloc_bitmap_weight(smallest->cpuset)))
            smallest = object;
    return smallest;
}

/* Whether it is of no second kind, as far as the export tells. */
static bool is_ordinary(hwloc_obj_t numa_node)
{
    return !numa_node->subtype || strcmp(numa_node->subtype, "DRAM") == 0;
}

/* Whether an export gives another NUMA node of ordinary memory the same PUs, of several packages:
 * as hwloc writes it where NUMA nodes cross packages, and which PU is whose can't be told. */
static bool is_crossed(const struct numalab_node *node, hwloc_obj_t numa_node)
{
    hwloc_obj_t other = NULL;
    if (hwloc_get_nbobjs_inside_cpuset_by_type(node->topology, numa_node->cpuset,
                                               HWLOC_OBJ_PACKAGE) < 2)
        return false;
    while ((other = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_NUMANODE, other)))
        if (other != numa_node && is_ordinary(other) &&
            hwloc_bitmap_isequal(other->cpuset, numa_node->cpuset))
            return true;
    return false;
}

/* Linux counts PUs to ordinary memory, though that of a second kind may be of a smaller part. */
static hwloc_obj_t numa_node_covering(const struct numalab_node *node, hwloc_const_bitmap_t pus)
{
    hwloc_obj_t other = NULL, smallest = NULL;
    while ((other = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_NUMANODE, other)))
        if (is_ordinary(other) && hwloc_bitmap_isincluded(pus, other->cpuset) &&
            (!smallest ||
             hwloc_bitmap_weight(other->cpuset) < hwloc_bitmap_weight(smallest->cpuset)))
            smallest = other;
    return smallest ? smallest : covering(node, HWLOC_OBJ_NUMANODE, pus);
}

int numalab_node_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus)
{
    if (node->map.pus > 0) return numalab_numa_map_of(&node->map, pus);
    if (hwloc_bitmap_iszero(pus)) return -1;
    hwloc_obj_t numa_node = numa_node_covering(node, pus);
    return numa_node && !is_crossed(node, numa_node) ? (int)numa_node->os_index : -1;
}

int numalab_package_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus)
{
    hwloc_obj_t package = covering(node, HWLOC_OBJ_PACKAGE, pus);
    if (!package) return -1;
    /* As Linux numbers it, where it does. */
    return (int)(package->os_index != HWLOC_UNKNOWN_INDEX ? package->os_index
                                                          : package->logical_index);
}

int numalab_core_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus)
{
    hwloc_obj_t core = covering(node, HWLOC_OBJ_CORE, pus);
    return core ? (int)core->logical_index : -1;
}

int numalab_l3_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus)
{
    hwloc_obj_t cache = covering(node, HWLOC_OBJ_L3CACHE, pus);
    return cache ? (int)cache->logical_index : -1;
}
