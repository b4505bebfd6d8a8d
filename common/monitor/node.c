#define _GNU_SOURCE
#include "node.h"

#include <ctype.h>
#include <errno.h>
#include <hwloc/cpukinds.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "memory.h"
#include "numa_nodes.h"

/* The first line of a file, without its end; NULL where there is none. */
static char *first_line(const char *path, char *line, size_t line_bytes)
{
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    char *got = fgets(line, (int)line_bytes, file);
    fclose(file);
    if (got) line[strcspn(line, "\n")] = '\0';
    return got;
}

static void set_line(json_t *object, const char *key, const char *path)
{
    char line[256];
    json_object_set_new(object, key,
                        first_line(path, line, sizeof line) ? json_string(line) : json_null());
}

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
        if (first_line(path, line, sizeof line) && isdigit((unsigned char)line[0])) {
            uint64_t value = strtoull(line, NULL, 10);
            if (value < smallest) smallest = value;
        }
        char *last = strrchr(group, '/');
        if (!last) return smallest;
        *last = '\0';
    }
}

static uint64_t cgroup_memory_limit(void)
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
    uint64_t allowed = cgroup_memory_limit();
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
    hwloc_obj_t object = NULL, found = NULL;
    if (hwloc_bitmap_iszero(pus)) return NULL;
    while ((object = hwloc_get_next_obj_by_type(node->topology, type, object)))
        if (hwloc_bitmap_isincluded(pus, object->cpuset) &&
            (!found || hwloc_bitmap_weight(object->cpuset) < hwloc_bitmap_weight(found->cpuset)))
            found = object;
    return found;
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
    hwloc_obj_t other = NULL, found = NULL;
    while ((other = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_NUMANODE, other)))
        if (is_ordinary(other) && hwloc_bitmap_isincluded(pus, other->cpuset) &&
            (!found || hwloc_bitmap_weight(other->cpuset) < hwloc_bitmap_weight(found->cpuset)))
            found = other;
    return found ? found : covering(node, HWLOC_OBJ_NUMANODE, pus);
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

/* The L3 that a PU shares, by hwloc's number; -1 where it has none. */
static int l3_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus)
{
    hwloc_obj_t cache = covering(node, HWLOC_OBJ_L3CACHE, pus);
    return cache ? (int)cache->logical_index : -1;
}

static json_t *describe_pus(const struct numalab_node *node)
{
    json_t *list = json_array();
    hwloc_obj_t pu = NULL;
    while ((pu = hwloc_get_next_obj_by_type(node->topology, HWLOC_OBJ_PU, pu)))
        json_array_append_new(list, json_pack("{si si si si si}", "pu", (int)pu->os_index, "core",
                                              numalab_core_of_pus(node, pu->cpuset), "package",
                                              numalab_package_of_pus(node, pu->cpuset), "numa_node",
                                              numalab_node_of_pus(node, pu->cpuset), "l3",
                                              l3_of_pus(node, pu->cpuset)));
    return list;
}

static json_t *describe_caches(const struct numalab_node *node)
{
    static const struct {
        hwloc_obj_type_t type;
        const char *name;
    } levels[] = {{HWLOC_OBJ_L1CACHE, "L1d"},
                  {HWLOC_OBJ_L2CACHE, "L2"},
                  {HWLOC_OBJ_L3CACHE, "L3"},
                  {HWLOC_OBJ_L4CACHE, "L4"}};
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        hwloc_obj_t cache = hwloc_get_next_obj_by_type(node->topology, levels[i].type, NULL);
        if (!cache) continue;
        json_array_append_new(list,
                              json_pack("{ss si sI}", "level", levels[i].name, "count",
                                        hwloc_get_nbobjs_by_type(node->topology, levels[i].type),
                                        "bytes_each", (json_int_t)cache->attr->cache.size));
    }
    return list;
}

/* The kinds of cores that there are, the weakest first: the system may name them, or tell how
 * fast or how large they are. null where it tells nothing. */
static json_t *describe_core_kinds(const struct numalab_node *node)
{
    const int count = hwloc_cpukinds_get_nr(node->topology, 0);
    hwloc_bitmap_t pus = hwloc_bitmap_alloc();
    json_t *list = count > 0 && pus ? json_array() : json_null();
    for (unsigned kind = 0; pus && (int)kind < count; kind++) {
        unsigned infos_count = 0, pu = 0;
        struct hwloc_info_s *infos = NULL;
        if (hwloc_cpukinds_get_info(node->topology, kind, pus, NULL, &infos_count, &infos, 0) < 0)
            continue;
        const char *name = NULL;
        for (unsigned i = 0; i < infos_count; i++)
            if (strcmp(infos[i].name, "CoreType") == 0) name = infos[i].value;
        json_t *numbers = json_array();
        hwloc_bitmap_foreach_begin(pu, pus)
            json_array_append_new(numbers, json_integer((json_int_t)pu));
        hwloc_bitmap_foreach_end();
        json_array_append_new(list, json_pack("{so ss?}", "pus", numbers, "name", name));
    }
    hwloc_bitmap_free(pus);
    return list;
}

static const char *info(hwloc_topology_t topology, hwloc_obj_type_t type, const char *name)
{
    hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, NULL);
    return object ? hwloc_obj_get_info_by_name(object, name) : NULL;
}

/* The word in brackets of a file such as "always [madvise] never". */
static json_t *chosen_word(const char *path)
{
    char line[256];
    if (!first_line(path, line, sizeof line)) return json_null();
    char *open = strchr(line, '['), *close = strchr(line, ']');
    if (!open || !close || close < open) return json_string(line);
    return json_stringn(open + 1, (size_t)(close - open - 1));
}

/* The mode that workers see which may have huge pages: where everybody gets them, those that ask,
 * if the system can do so for one process. */
static json_t *worker_huge_page_mode(const json_t *node)
{
    json_t *mode = json_object_get(node, "huge_page_mode");
    const char *word = json_string_value(mode);
    if (word && !strcmp(word, "always") && numalab_memory_has_except_advised())
        return json_string("madvise");
    return json_incref(mode);
}

json_t *numalab_node_describe(const struct numalab_node *node)
{
    char host[256] = "", line[256];
    struct utsname system;
    double load[3] = {0};
    json_t *object = json_object();
    if (!object) return NULL;

    gethostname(host, sizeof host - 1);
    uname(&system);
    const char *model = info(node->topology, HWLOC_OBJ_PACKAGE, "CPUModel");
    int pus = hwloc_get_nbobjs_by_type(node->topology, HWLOC_OBJ_PU);
    int packages = hwloc_get_nbobjs_by_type(node->topology, HWLOC_OBJ_PACKAGE);

    json_object_set_new(object, "name", json_string(host));
    json_object_set_new(object, "kernel", json_string(system.release));
    json_object_set_new(object, "architecture", json_string(system.machine));
    json_object_set_new(object, "cpu_model", model ? json_string(model) : json_null());
    json_object_set_new(object, "packages", json_integer(packages > 0 ? packages : 1));
    json_object_set_new(object, "numa_nodes", json_integer((json_int_t)node->numa_node_count));
    json_object_set_new(object, "cores", json_integer((json_int_t)node->core_count));
    json_object_set_new(object, "pus", json_integer(pus));
    json_object_set_new(object, "pus_online", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    json_object_set_new(object, "page_bytes", json_integer(sysconf(_SC_PAGESIZE)));
    json_object_set_new(object, "memory_bytes", json_integer((json_int_t)node->memory_bytes));
    json_object_set_new(object, "last_level_cache_bytes",
                        json_integer((json_int_t)node->last_level_cache_bytes));
    json_object_set_new(object, "caches", describe_caches(node));
    json_object_set_new(object, "numa_node_list", numalab_describe_numa_nodes(node));
    json_object_set_new(
        object, "distances",
        numalab_describe_distances(node, json_object_get(object, "numa_node_list")));
    json_object_set_new(object, "pu_list", describe_pus(node));
    json_object_set_new(object, "core_kinds", describe_core_kinds(node));
    json_object_set_new(object, "huge_page_mode",
                        chosen_word("/sys/kernel/mm/transparent_hugepage/enabled"));
    json_object_set_new(object, "worker_huge_page_mode", worker_huge_page_mode(object));
    set_line(object, "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    set_line(object, "clock_source",
             "/sys/devices/system/clocksource/clocksource0/current_clocksource");
    bool has_balancing = first_line("/proc/sys/kernel/numa_balancing", line, sizeof line);
    json_object_set_new(object, "numa_balancing",
                        has_balancing ? json_boolean(strcmp(line, "0") != 0) : json_null());
    json_object_set_new(object, "load_1min",
                        getloadavg(load, 3) > 0 ? json_real(load[0]) : json_null());
    uint64_t allowed = cgroup_memory_limit();
    json_object_set_new(object, "cgroup_memory_max_bytes",
                        allowed < (uint64_t)1 << 60 ? json_integer((json_int_t)allowed)
                                                    : json_null());
    return object;
}
