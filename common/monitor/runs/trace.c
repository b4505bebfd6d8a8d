#include <errno.h>

#include "monitor/job_results.h"
#include "monitor/record.h"
#include "runs.h"

/* One compute phase shows one user of a page in each order of arrival; the
 * second of a natural tracing shows whether the users change. */
enum { NATURAL_COMPUTES = 2, ORDERED_COMPUTES = 1 };

/* Emulated, loops in pieces take a few milliseconds for a sixteenth, one by one hundreds. */
enum { TRIALS = 3 };
static const double longest_trial_s = 0.1;

struct trace {
    struct numalab_job job; /* of one rank */
    struct numalab_results results;
    struct numalab_touch_map *map;
    struct numalab_threads threads;
};

static int run(struct trace *trace, const struct numalab_run_options *options,
               struct numalab_oracle *oracle, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    limits.huge_pages = false; /* one written byte would place 512 pages */
    const size_t computes =
        options->touch_order == NUMALAB_ORDER_NATURAL ? NATURAL_COMPUTES : ORDERED_COMPUTES;

    if (numalab_role_start(&trace->job, options, &options->role[0], 1, &limits) < 0 ||
        numalab_job_allocate(&trace->job, n, driver, NUMALAB_SHARED) < 0)
        return -1;
    struct numalab_worker *worker = &trace->job.rank[0];
    trace->map = numalab_touch_map_open(worker, options->node, driver, &options->sampling,
                                        options->touch_order, options->touch_method);
    if (!trace->map ||
        numalab_touch_map_run_initialize(trace->map, worker, driver->initialize_phase) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    for (size_t i = 0; i < computes; i++) {
        if (numalab_touch_map_run_compute(trace->map, worker, driver->compute_phase) < 0) return -1;
        driver->advance(oracle, driver->compute_phase);
    }
    if (numalab_worker_stop(worker) < 0) return -1;
    int error = numalab_threads_read(worker->pid, &trace->threads);
    if (error < 0) return numalab_worker_fail_obstructed(worker, "list the threads", error);
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase, computes - 1};
    return numalab_job_compare_all(&trace->job, &expected, &trace->results);
}

/* How long a compute phase takes at a size, the shortest of some; 0.0 where it fails, which the
 * tracing will tell. */
static double compute_s(const struct numalab_run_options *options, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_job job = {0};
    double shortest_s = 0.0;
    int failed = numalab_role_start(&job, options, &options->role[0], 1, &limits) < 0 ||
                 numalab_job_allocate(&job, n, driver, NUMALAB_ANONYMOUS) < 0 ||
                 numalab_job_run(&job, driver->initialize_phase) < 0;
    for (int i = 0; !failed && i < TRIALS; i++) {
        failed = numalab_worker_run(&job.rank[0], driver->compute_phase, NULL) < 0;
        if (i == 0 || job.rank[0].elapsed_s < shortest_s) shortest_s = job.rank[0].elapsed_s;
    }
    numalab_job_end(&job);
    numalab_job_free(&job);
    return failed ? 0.0 : shortest_s;
}

/* Where few pages are traced, since each takes its time, a loop that hands out its elements one by
 * one takes seconds per phase with as many as are promised: it is looked at with a sixteenth. */
static size_t size_of(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n = numalab_traced_n(driver, options->node, &options->sampling);
    if (options->n) return options->n;
    const bool is_native = options->sampling.traced_pages >= numalab_traced_pages(NUMALAB_QUICK);
    if (is_native || driver->evidence_n) return n;
    const size_t less = numalab_sixteenth_n(driver, n, options->thread_count);
    return compute_s(options, less) > longest_trial_s ? less : n;
}

json_t *numalab_run_trace(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n = size_of(options);
    struct trace trace = {0};

    struct numalab_oracle *oracle = numalab_job_oracle(driver, n, 1, false);
    if (!oracle) return NULL;
    int failed = run(&trace, options, oracle, n);

    json_t *record =
        json_pack("{so sI so so}", "seed",
                  json_sprintf("%016llx", (unsigned long long)options->sampling.seed), "n",
                  (json_int_t)n, "results", numalab_record_results(&trace.results, driver),
                  "threads", numalab_threads_describe(&trace.threads, options->node));
    if (!failed)
        json_object_set_new(record, "touch_map",
                            numalab_touch_map_describe(trace.map, &trace.threads));
    numalab_job_end(&trace.job);
    json_object_set_new(record, "outcome", numalab_record_job(&trace.job, driver));
    numalab_job_free(&trace.job);
    numalab_touch_map_close(trace.map);
    numalab_threads_free(&trace.threads);
    driver->destroy(oracle);
    return record;
}
