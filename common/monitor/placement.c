#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "job_results.h"
#include "record.h"
#include "runs.h"

/* CPU time is counted in slices of the scheduler, so one phase says little. What counts is
 * time on a core: beside other work a phase that took long may have done little. */
static const double least_on_core_s = 0.1, most_compute_s = 1.0;
enum { LEAST_COMPUTES = 3, MAX_COMPUTES = 200, PAGES_PER_CALL = 512 };

/* What one thread did in the compute phases. Threads may change places from call to call,
 * so who worked longest is noted for each. */
struct share {
    double cpu_s, waiting_s; /* on a core, and waiting for one */
    double longest_s;        /* on a core, in calls in which no other thread was longer */
    double last_s;           /* both, in calls in which no other thread took longer */
};

struct placement {
    struct numalab_job job; /* of one rank */
    struct numalab_results results;
    struct numalab_threads threads;
    struct share *share; /* of each of them */
    json_t *residency;
    size_t computes;
    double on_core_s; /* in these, of whoever had most in each */
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
        if (!pages) continue; /* as in the touch map */
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

static int read_threads(struct numalab_worker *worker, struct numalab_threads *threads)
{
    int error = numalab_threads_read(worker->pid, threads);
    return error < 0 ? numalab_worker_kit_error(worker, "list the threads", error) : 0;
}

/* Adds what the threads did between two looks; they are in the same order, those of the
 * later look perhaps more. Returns the seconds on a core of whoever had most. */
static double add_call(struct share *share, const struct numalab_threads *before,
                       const struct numalab_threads *after)
{
    size_t longest = 0, last = 0;
    double longest_s = -1.0, last_s = -1.0;
    for (size_t i = 0; i < after->count; i++) {
        const struct numalab_thread *thread = &after->list[i];
        const int earlier = numalab_threads_number(before, thread->id);
        double cpu_s = thread->cpu_s, waiting_s = thread->waiting_s;
        if (earlier >= 0) {
            cpu_s -= before->list[earlier].cpu_s;
            waiting_s -= before->list[earlier].waiting_s;
        }
        share[i].cpu_s += cpu_s;
        share[i].waiting_s += waiting_s;
        if (cpu_s > longest_s) {
            longest = i;
            longest_s = cpu_s;
        }
        if (cpu_s + waiting_s > last_s) {
            last = i;
            last_s = cpu_s + waiting_s;
        }
    }
    share[longest].longest_s += longest_s;
    share[last].last_s += last_s;
    return longest_s;
}

/* One more compute phase; its threads take the place of those of the look before. */
static int run_call(struct placement *placement, const struct numalab_driver *driver)
{
    struct numalab_worker *worker = &placement->job.rank[0];
    struct numalab_threads after = {0};
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0 ||
        read_threads(worker, &after) < 0)
        return -1;
    struct share *share = placement->share;
    if (after.count > placement->threads.count) {
        share = realloc(share, after.count * sizeof *share);
        if (!share) {
            numalab_threads_free(&after);
            return numalab_worker_kit_error(worker, "list the threads", -ENOMEM);
        }
        for (size_t i = placement->threads.count; i < after.count; i++)
            share[i] = (struct share){0};
        placement->share = share;
    }
    if (after.count) placement->on_core_s += add_call(share, &placement->threads, &after);
    numalab_threads_free(&placement->threads);
    placement->threads = after;
    return 0;
}

static int run(struct placement *placement, const struct numalab_run_options *options,
               struct numalab_oracle *oracle, size_t n)
{
    const struct numalab_driver *driver = options->driver;

    if (numalab_role_start(&placement->job, options, &options->role[0], 1, &options->limits) < 0 ||
        numalab_job_allocate(&placement->job, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_run(&placement->job, driver->initialize_phase) < 0)
        return -1;
    struct numalab_worker *worker = &placement->job.rank[0];
    driver->advance(oracle, driver->initialize_phase);
    /* The first compute starts the team, if initialise has not. */
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0 ||
        read_threads(worker, &placement->threads) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    placement->share = calloc(placement->threads.count + 1, sizeof *placement->share);
    if (!placement->share) return numalab_worker_kit_error(worker, "list the threads", -ENOMEM);

    for (double spent_s = 0; placement->computes < LEAST_COMPUTES ||
                             (placement->on_core_s < least_on_core_s &&
                              spent_s < most_compute_s && placement->computes < MAX_COMPUTES);
         placement->computes++) {
        if (run_call(placement, driver) < 0) return -1;
        driver->advance(oracle, driver->compute_phase);
        spent_s += worker->elapsed_s;
    }
    if (numalab_worker_stop(worker) < 0) return -1;
    placement->residency = describe_residency(worker, driver);
    return numalab_job_compare_all(&placement->job, driver, oracle, driver->compute_phase,
                                   placement->computes, &placement->results);
}

static json_t *describe_cpu_time(const struct placement *placement)
{
    json_t *list = json_array();
    for (size_t i = 0; i < placement->threads.count; i++) {
        const struct share *share = &placement->share[i];
        json_array_append_new(list, json_pack("{si sf sf sf sf}", "thread", (int)i, "cpu_s",
                                              share->cpu_s, "waiting_s", share->waiting_s,
                                              "longest_s", share->longest_s, "last_s",
                                              share->last_s));
    }
    return list;
}

json_t *numalab_run_placement(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n = numalab_traced_n(driver, options->traced_pages,
                                      options->thread_count, options->node->numa_node_count);
    struct placement placement = {0};

    struct numalab_oracle *oracle = numalab_job_oracle(driver, n, 1);
    if (!oracle) return NULL;
    int failed = run(&placement, options, oracle, n);
    json_t *record = json_pack(
        "{ss ss sI sI so so so}", "kind", "placement", "role", options->role[0].name, "n",
        (json_int_t)n, "computes", (json_int_t)placement.computes, "results",
        numalab_record_results(&placement.results, driver), "threads",
        numalab_threads_describe(&placement.threads, options->node), "residency",
        placement.residency ? placement.residency : json_null());
    if (!failed) json_object_set_new(record, "cpu_time", describe_cpu_time(&placement));
    numalab_job_end(&placement.job);
    json_object_set_new(record, "outcome", numalab_record_job(&placement.job, driver));
    numalab_job_free(&placement.job);
    numalab_threads_free(&placement.threads);
    free(placement.share);
    driver->destroy(oracle);
    return record;
}
