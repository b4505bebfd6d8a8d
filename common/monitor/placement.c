#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"
#include "results.h"
#include "runs.h"

/* CPU time is counted in slices of the scheduler, so one phase says little. */
static const double least_compute_s = 0.1;
enum { MAX_COMPUTES = 200, PAGES_PER_CALL = 512 };

struct placement {
    struct numalab_worker worker;
    struct numalab_results results;
    struct numalab_threads before, after;
    json_t *residency;
    size_t computes;
};

/* NUMA node of each page of an array by move_pages in query mode; -1 for a page
 * that is absent. */
static int read_residency(struct numalab_worker *worker, size_t array, int *numa_node,
                          size_t page_count)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    void *page[PAGES_PER_CALL];
    for (size_t first = 0; first < page_count; first += PAGES_PER_CALL) {
        size_t count =
            page_count - first < PAGES_PER_CALL ? page_count - first : PAGES_PER_CALL;
        for (size_t i = 0; i < count; i++)
            page[i] = (void *)(uintptr_t)(worker->address[array] + (first + i) * page_bytes);
        if (syscall(SYS_move_pages, worker->pid, count, page, NULL, numa_node + first, 0) < 0)
            return -errno;
        for (size_t i = first; i < first + count; i++)
            if (numa_node[i] < 0) numa_node[i] = -1;
    }
    return 0;
}

static json_t *describe_residency(struct numalab_worker *worker,
                                  const struct numalab_driver *driver)
{
    json_t *list = json_array();
    for (size_t i = 0; i < driver->array_count; i++) {
        size_t pages = worker->bytes[i] / (size_t)sysconf(_SC_PAGESIZE);
        int *numa_node = malloc(pages * sizeof *numa_node);
        int error = numa_node ? read_residency(worker, i, numa_node, pages) : -ENOMEM;
        if (error == 0)
            json_array_append_new(list,
                                  json_pack("{ss so}", "array", driver->arrays[i].name,
                                            "numa_node", numalab_record_runs(numa_node, pages)));
        free(numa_node);
        if (error < 0) {
            /* Refused by the system: the record says nothing of residency. */
            json_decref(list);
            return json_null();
        }
    }
    return list;
}

static int run(struct placement *placement, const struct numalab_run_options *options,
               struct numalab_oracle *oracle, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_worker *worker = &placement->worker;

    if (numalab_worker_start(worker, options->role[0].program, &options->limits,
                             options->cancel_fd) < 0 ||
        numalab_worker_allocate(worker, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_worker_run(worker, driver->initialize_phase, NULL) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    /* The first compute starts the team, if initialise has not. */
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0 ||
        numalab_worker_stop(worker) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    int error = numalab_threads_read(worker->pid, &placement->before);
    if (error < 0) return numalab_worker_kit_error(worker, "list the threads", error);
    if (numalab_worker_continue(worker) < 0) return -1;

    for (double spent_s = 0; spent_s < least_compute_s && placement->computes < MAX_COMPUTES;
         placement->computes++) {
        if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0) return -1;
        driver->advance(oracle, driver->compute_phase);
        spent_s += worker->elapsed_s;
    }
    if (numalab_worker_stop(worker) < 0) return -1;
    error = numalab_threads_read(worker->pid, &placement->after);
    if (error < 0) return numalab_worker_kit_error(worker, "list the threads", error);
    placement->residency = describe_residency(worker, driver);
    return numalab_results_compare_all(worker, driver, oracle, driver->compute_phase,
                                       placement->computes, &placement->results);
}

static json_t *describe_cpu_time(const struct placement *placement)
{
    json_t *list = json_array();
    for (size_t i = 0; i < placement->after.count; i++) {
        const struct numalab_thread *thread = &placement->after.list[i];
        int earlier = numalab_threads_number(&placement->before, thread->id);
        double before_s = earlier < 0 ? 0.0 : placement->before.list[earlier].cpu_s;
        json_array_append_new(list, json_pack("{si sf}", "thread", (int)i, "cpu_s",
                                              thread->cpu_s - before_s));
    }
    return list;
}

json_t *numalab_run_placement(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n = numalab_traced_n(driver, options->traced_pages,
                                      options->thread_count, options->node->numa_node_count);
    struct placement placement = {.worker = {.pid = -1}};

    struct numalab_oracle *oracle = driver->create(n);
    if (!oracle) return NULL;
    int failed = run(&placement, options, oracle, n);
    json_t *record = json_pack(
        "{ss ss sI sI so so so}", "kind", "placement", "role", options->role[0].name, "n",
        (json_int_t)n, "computes", (json_int_t)placement.computes, "results",
        numalab_record_results(&placement.results, driver), "threads",
        numalab_threads_describe(&placement.after, options->node), "residency",
        placement.residency ? placement.residency : json_null());
    if (!failed) json_object_set_new(record, "cpu_time", describe_cpu_time(&placement));
    numalab_worker_end(&placement.worker);
    json_object_set_new(record, "outcome", numalab_record_outcome(&placement.worker, driver));
    numalab_threads_free(&placement.before);
    numalab_threads_free(&placement.after);
    driver->destroy(oracle);
    return record;
}
