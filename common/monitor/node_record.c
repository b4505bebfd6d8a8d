#define _GNU_SOURCE
#include "node_record.h"

#include <hwloc/cpukinds.h>
#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "memory.h"
#include "numa_nodes.h"
#include "proc.h"

static void set_line(json_t *object, const char *key, const char *path)
{
    char line[256];
    json_object_set_new(object, key,
                        numalab_read_first_line(path, line, sizeof line) ? json_string(line)
                                                                         : json_null());
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
                                              numalab_l3_of_pus(node, pu->cpuset)));
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
    if (!numalab_read_first_line(path, line, sizeof line)) return json_null();
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
    bool has_balancing =
        numalab_read_first_line("/proc/sys/kernel/numa_balancing", line, sizeof line);
    json_object_set_new(object, "numa_balancing",
                        has_balancing ? json_boolean(strcmp(line, "0") != 0) : json_null());
    json_object_set_new(object, "load_1min",
                        getloadavg(load, 3) > 0 ? json_real(load[0]) : json_null());
    uint64_t allowed = numalab_cgroup_memory_limit();
    json_object_set_new(object, "cgroup_memory_max_bytes",
                        allowed < (uint64_t)1 << 60 ? json_integer((json_int_t)allowed)
                                                    : json_null());
    return object;
}
