#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "monitor/job_results.h"
#include "monitor/record.h"
#include "runs.h"

/* Enough moments that each thread of a large team is met by chance alone as often as it works. */
enum { LEAST_MOMENTS = 40, LEAST_COMPUTES = 2, MOST_COMPUTES = 20 };

/* Between two moments: a part of a call, so that all of it is seen; but so long that threads get on
 * after all their pages were closed, and so short that there are many. */
enum { MOMENTS_A_CALL = 24 };
static const double least_interval_s = 4e-3, most_interval_s = 20e-3;

struct activity {
    struct numalab_job job; /* of one rank */
    struct numalab_results results;
    struct numalab_touch_map *map;
    struct numalab_threads threads;          /* of the team, after its first call */
    struct numalab_activity_sampler sampler; /* of these */
    size_t computes;                         /* calls that were watched */
};

/* No less than n, and arrays of whole pages, which is what can be closed. Element sizes are powers
 * of two. */
static size_t whole_pages_n(const struct numalab_driver *driver, size_t n)
{
    size_t smallest = NUMALAB_MAX_ELEMENT_BYTES;
    for (size_t i = 0; i < driver->array_count; i++)
        if (driver->arrays[i].element_bytes < smallest) smallest = driver->arrays[i].element_bytes;
    const size_t unit = (size_t)sysconf(_SC_PAGESIZE) / smallest;
    return (n + unit - 1) / unit * unit;
}

static double clamp(double least, double value, double most)
{
    return value < least ? least : value > most ? most : value;
}

static int run(struct activity *activity, const struct numalab_run_options *options,
               struct numalab_oracle *oracle, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    limits.huge_pages = false; /* pages are closed one by one */

    if (numalab_role_start(&activity->job, options, &options->role[0], 1, &limits) < 0 ||
        numalab_job_allocate(&activity->job, n, driver, NUMALAB_SHARED) < 0 ||
        numalab_job_run(&activity->job, driver->initialize_phase) < 0)
        return -1;
    struct numalab_worker *worker = &activity->job.rank[0];
    driver->advance(oracle, driver->initialize_phase);
    /* The first call tells how long one takes, and starts the team. */
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0) return -1;
    driver->advance(oracle, driver->compute_phase);
    activity->map = numalab_touch_map_open(worker, NULL, driver, &options->sampling,
                                           NUMALAB_ORDER_NATURAL, NUMALAB_TOUCH_USERFAULTFD);
    if (!activity->map) return -1;
    int error = numalab_threads_read(worker->pid, &activity->threads);
    if (error == 0)
        error = numalab_activity_sampler_init(&activity->sampler, worker->pid, &activity->threads);
    if (error == -ENOMEM) return numalab_worker_kit_error(worker, "list the threads", error);
    if (error < 0) return numalab_worker_fail_obstructed(worker, "list the threads", error);
    numalab_touch_map_sample_activity(
        activity->map, &activity->sampler,
        clamp(least_interval_s, worker->elapsed_s / MOMENTS_A_CALL, most_interval_s));
    for (size_t moments = 1; /* none: nobody can look here */
         activity->computes < LEAST_COMPUTES ||
         (moments > 0 && moments < LEAST_MOMENTS && activity->computes < MOST_COMPUTES);
         moments = numalab_touch_map_moments(activity->map)) {
        if (numalab_touch_map_run_compute(activity->map, worker, driver->compute_phase) < 0)
            return -1;
        driver->advance(oracle, driver->compute_phase);
        activity->computes++;
    }
    if (numalab_worker_stop(worker) < 0) return -1;
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase,
                                              activity->computes};
    return numalab_job_compare_all(&activity->job, &expected, &activity->results);
}

static json_t *describe_threads(const struct numalab_activity_sampler *sampler)
{
    json_t *list = json_array();
    for (size_t i = 0; i < sampler->count; i++)
        json_array_append_new(list, json_pack("{si sI sI}", "thread", (int)i, "works",
                                              (json_int_t)sampler->entry[i].active_samples, "spins",
                                              (json_int_t)sampler->entry[i].other_samples));
    return list;
}

/* Who is at work at moments that nobody can foresee: a thread that works comes to a page that has
 * been closed, and one that waits does not, however busy it is. */
json_t *numalab_run_at_work(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n =
        whole_pages_n(driver, numalab_traced_n(driver, options->node, &options->sampling));
    struct activity activity = {0};

    struct numalab_oracle *oracle = numalab_job_oracle(driver, n, 1, false);
    if (!oracle) return NULL;
    const int failed = run(&activity, options, oracle, n);
    json_t *record =
        json_pack("{sI so sI sI}", "n", (json_int_t)n, "results",
                  numalab_record_results(&activity.results, driver), "computes",
                  (json_int_t)activity.computes, "moments",
                  (json_int_t)(activity.map ? numalab_touch_map_moments(activity.map) : 0));
    if (!failed) json_object_set_new(record, "threads", describe_threads(&activity.sampler));
    numalab_job_end(&activity.job);
    json_object_set_new(record, "outcome", numalab_record_job(&activity.job, driver));
    numalab_job_free(&activity.job);
    numalab_touch_map_close(activity.map);
    numalab_activity_sampler_free(&activity.sampler);
    numalab_threads_free(&activity.threads);
    driver->destroy(oracle);
    return record;
}
