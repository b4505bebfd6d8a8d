#define _GNU_SOURCE
#include <errno.h>
#include <hwloc/memattrs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monitor/proc.h"
#include "monitor/random.h"
#include "monitor/record.h"
#include "monitor/residency.h"
#include "monitor/results.h"
#include "runs.h"

enum { ELEMENT_BYTES = 8, POLICY_BYTES = 64, MASK_LONGS = 16 };

/* Of each array: for each thread so many pages that those at the ends of its part count for little,
 * and no fewer in all; some more by chance. */
static const size_t pages_each = 64, least_pages = 1024;

/* Of the matrix beyond what is free: enough that a NUMA node is full whatever else happens on it.
 */
static const uint64_t excess_bytes = (uint64_t)24 << 20;

/* What a virtual node has, and nobody else's: more is a node that is used. */
static const uint64_t most_filled_bytes = (uint64_t)1 << 30;

struct policy_run {
    struct numalab_worker worker;
    struct numalab_threads threads;
    struct numalab_results results;
    size_t n;
    json_t *thread_nodes, *initial, *final, *residency, *fill; /* NULL: it did not come to that */
};

/* ---- the process's own policy, as numactl sets it ------------------------------------- */

/* Linux's numbers (set_mempolicy(2)), which are part of its interface. */
static int policy_number(const char *name, size_t length)
{
    static const struct {
        const char *name;
        int number;
    } known[] = {{"default", 0}, {"preferred", 1}, {"bind", 2}, {"interleave", 3}, {"local", 4}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == length && strncmp(known[i].name, name, length) == 0)
            return known[i].number;
    return -1;
}

static int set_own_policy(int policy, hwloc_const_bitmap_t nodes)
{
    unsigned long mask[MASK_LONGS] = {0};
    for (unsigned i = 0; nodes && i < MASK_LONGS; i++)
        mask[i] = hwloc_bitmap_to_ith_ulong(nodes, i);
    return syscall(SYS_set_mempolicy, policy, nodes ? mask : NULL,
                   nodes ? 8 * sizeof mask + 1 : 0) < 0
               ? -errno
               : 0;
}

/* Takes on a policy, which a worker inherits that is started then. Returns 0, or a negative errno;
 * *refused: the nodes of it that the machine does not have, to be freed, or NULL. */
static int take_on(const char *text, const struct numalab_node *node, char **refused)
{
    const char *colon = strchr(text, ':');
    const int policy = colon ? policy_number(text, (size_t)(colon - text)) : -1;
    const hwloc_const_bitmap_t all = hwloc_topology_get_topology_nodeset(node->topology);
    hwloc_bitmap_t nodes = hwloc_bitmap_alloc();
    int error = policy < 0 || !nodes ? -EINVAL : 0;
    *refused = NULL;
    if (!error && strcmp(colon + 1, "all") == 0)
        hwloc_bitmap_copy(nodes, all);
    else if (!error && colon[1] && hwloc_bitmap_list_sscanf(nodes, colon + 1) < 0)
        error = -EINVAL;
    if (!error && !hwloc_bitmap_isincluded(nodes, all)) {
        hwloc_bitmap_andnot(nodes, nodes, all);
        if (hwloc_bitmap_list_asprintf(refused, nodes) < 0) error = -ENOMEM;
    } else if (!error) {
        error = set_own_policy(policy, hwloc_bitmap_iszero(nodes) ? NULL : nodes);
    }
    hwloc_bitmap_free(nodes);
    return error;
}

static int start(struct policy_run *run, const struct numalab_run_options *options, char **refused)
{
    struct numalab_worker *worker = &run->worker;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    limits.huge_pages = false; /* one touched byte would place 512 pages */
    const int error =
        options->memory_policy ? take_on(options->memory_policy, options->node, refused) : 0;
    if (error) return numalab_worker_kit_error(worker, "set the memory policy", error);
    if (*refused) return -1;
    const int failed =
        numalab_worker_start(worker, options->role[0].program, &limits, options->cancel_fd);
    if (options->memory_policy) set_own_policy(0, NULL);
    return failed;
}

/* ---- what is seen ---------------------------------------------------------------------- */

/* The policy that a mapping has for a thread, from its numa_maps: the mapping's own, or else the
 * thread's. */
static json_t *policy_of(const struct numalab_worker *worker, pid_t thread, uint64_t page)
{
    char *line = NULL;
    size_t room = 0;
    json_t *found = NULL;
    FILE *file = numalab_proc_open_thread(worker->pid, thread, "numa_maps");
    while (file && !found && getline(&line, &room, file) > 0) {
        char policy[POLICY_BYTES];
        unsigned long long begin;
        if (sscanf(line, "%llx %63s", &begin, policy) == 2 && begin == page)
            found = json_string(policy);
    }
    free(line);
    if (file) fclose(file);
    return found ? found : json_null();
}

/* Of each thread of the worker, for an array that nobody was asked to place. */
static json_t *policies(struct policy_run *run, const struct numalab_driver *driver)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t address = run->worker.address[driver->memory_policy->control];
    json_t *list = json_array();
    for (size_t i = 0; i < run->threads.count; i++)
        json_array_append_new(
            list, policy_of(&run->worker, run->threads.list[i].id, address - address % page_bytes));
    return list;
}

static int read_threads(struct policy_run *run)
{
    numalab_threads_free(&run->threads);
    const int error = numalab_threads_read(run->worker.pid, &run->threads);
    return error < 0 ? numalab_worker_fail_obstructed(&run->worker, "list the threads", error) : 0;
}

/* Asks each thread of the team where it runs, with arrays of its own; *last: NUMA node of the last
 * one. */
static int read_thread_nodes(struct policy_run *run, const struct numalab_run_options *options,
                             int *last)
{
    const struct numalab_driver *driver = options->driver;
    const size_t team = options->thread_count;
    struct numalab_worker *worker = &run->worker;
    uint64_t *node = calloc(team, sizeof *node);
    if (!node) return numalab_worker_kit_error(worker, "call the roll", -ENOMEM);
    const int failed =
        numalab_worker_allocate(worker, team, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_worker_run(worker, driver->memory_policy->thread_nodes_phase, NULL) < 0 ||
        numalab_worker_read_or_fail(worker, worker->address[driver->memory_policy->thread_nodes],
                                    node, team * sizeof *node) < 0;
    if (!failed) {
        run->thread_nodes = json_array();
        for (size_t i = 0; i < team; i++)
            json_array_append_new(run->thread_nodes, json_integer((json_int_t)node[i]));
        *last = (int)node[team - 1];
    }
    free(node);
    return failed ? -1 : read_threads(run);
}

/* Where the PU of the first thread finds the most bandwidth, by what the system tells; null: it
 * does not. */
static json_t *describe_fastest(const struct policy_run *run, const struct numalab_node *node)
{
#if HWLOC_API_VERSION >= 0x00020300
    if (run->threads.count && run->threads.list[0].allowed) {
        struct hwloc_location from = {.type = HWLOC_LOCATION_TYPE_CPUSET};
        hwloc_obj_t best = NULL;
        hwloc_uint64_t bandwidth = 0;
        from.location.cpuset = run->threads.list[0].allowed;
        if (hwloc_memattr_get_best_target(node->topology, HWLOC_MEMATTR_ID_BANDWIDTH, &from, 0,
                                          &best, &bandwidth) == 0)
            return json_integer((json_int_t)best->os_index);
    }
#else
    (void)run;
    (void)node;
#endif
    return json_null();
}

/* ---- a node with room enough ------------------------------------------------------------ */

static int observe(struct policy_run *run, const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_worker *worker = &run->worker;
    const size_t page_elements = (size_t)sysconf(_SC_PAGESIZE) / ELEMENT_BYTES;
    struct numalab_random random = {.seed = options->sampling.seed};
    size_t pages = pages_each * options->thread_count;
    if (pages < least_pages) pages = least_pages;
    /* Nothing is written before the worker does: that would place it. No whole number of pages, so
     * that no array begins with one. */
    run->n = pages * page_elements +
             (size_t)(numalab_random_next(&random) % (pages * page_elements / 8)) / 2 * 2 + 1;
    struct numalab_oracle *oracle = driver->create(run->n);
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase, 0};
    if (!oracle) return numalab_worker_kit_error(worker, "make the oracle", -ENOMEM);
    int failed = numalab_worker_allocate(worker, run->n, driver, NUMALAB_ANONYMOUS) < 0;
    if (!failed) run->initial = policies(run, driver);
    failed = failed || numalab_worker_run(worker, driver->initialize_phase, NULL) < 0 ||
             numalab_worker_run(worker, driver->compute_phase, NULL) < 0 ||
             numalab_worker_stop(worker) < 0 || read_threads(run) < 0;
    if (!failed) {
        run->final = policies(run, driver);
        run->residency = numalab_residency_describe(worker, driver, &options->sampling);
        driver->advance(oracle, driver->initialize_phase);
        driver->advance(oracle, driver->compute_phase);
    }
    for (size_t array = 0; !failed && array < worker->array_count; array++)
        failed = numalab_results_compare_array(worker, &expected, array, &run->results) < 0;
    driver->destroy(oracle);
    return failed ? -1 : 0;
}

/* ---- a node that is full ------------------------------------------------------------------ */

/* Memory of a NUMA node that nobody uses; 0 where the system does not tell. */
static uint64_t free_bytes_of(int numa_node)
{
    char path[64], line[128];
    unsigned long long kilobytes = 0;
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/meminfo", numa_node);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "Node %*d MemFree: %llu kB", &kilobytes) == 1) break;
    if (file) fclose(file);
    return (uint64_t)kilobytes << 10;
}

static int fill(struct policy_run *run, const struct numalab_run_options *options, int numa_node)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_memory_policy *of = driver->memory_policy;
    struct numalab_worker *worker = &run->worker;
    const uint64_t free_bytes = free_bytes_of(numa_node);
    if (free_bytes == 0 || free_bytes > most_filled_bytes)
        return numalab_worker_kit_error(worker, "fill a NUMA node that is not a virtual one's",
                                        -EFBIG);
    run->n = (size_t)((free_bytes + excess_bytes) / ELEMENT_BYTES) | 1;
    /* On record before the worker may end of it. */
    run->fill = json_pack("{si sI sI}", "numa_node", numa_node, "free_bytes",
                          (json_int_t)free_bytes, "page_bytes", (json_int_t)sysconf(_SC_PAGESIZE));
    if (numalab_worker_allocate(worker, run->n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_worker_run(worker, of->first_phase, NULL) < 0 ||
        numalab_worker_run(worker, of->hand_over_phase, NULL) < 0 ||
        numalab_worker_run(worker, of->rest_phase, NULL) < 0 || numalab_worker_stop(worker) < 0)
        return -1;
    json_object_set_new(
        run->fill, "pages",
        numalab_residency_by_node(worker, worker->address[of->matrix], worker->bytes[of->matrix]));
    return 0;
}

static json_t *or_null(json_t *value)
{
    return value ? value : json_null();
}

/* Of private memory. */
json_t *numalab_run_placing(const struct numalab_run_options *options)
{
    struct policy_run run = {.worker = numalab_no_worker};
    char *refused = NULL;
    int last = 0;
    json_t *fastest = NULL;

    if (start(&run, options, &refused) == 0 && read_thread_nodes(&run, options, &last) == 0) {
        fastest = describe_fastest(&run, options->node);
        if (options->fills_node)
            fill(&run, options, last);
        else
            observe(&run, options);
    }
    json_t *record =
        json_pack("{sI sI sb so so so so so so so so so}", "n", (json_int_t)run.n, "page_bytes",
                  (json_int_t)sysconf(_SC_PAGESIZE), "fills_node", (int)options->fills_node,
                  "thread_nodes", or_null(run.thread_nodes), "policies_before",
                  or_null(run.initial), "policies_after", or_null(run.final), "residency",
                  or_null(run.residency), "fill", or_null(run.fill), "fastest_node",
                  or_null(fastest), "refused_nodes", refused ? json_string(refused) : json_null(),
                  "threads", numalab_threads_describe(&run.threads, options->node), "results",
                  numalab_record_results(&run.results, options->driver));
    numalab_worker_end(&run.worker);
    json_object_set_new(record, "outcome", numalab_record_outcome(&run.worker, options->driver));
    numalab_threads_free(&run.threads);
    free(refused);
    return record;
}
