#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>

#include "monitor/job_results.h"
#include "monitor/proc.h"
#include "monitor/record.h"
#include "monitor/residency.h"
#include "single_thread.h"
#include "runs.h"
#include "monitor/steal_time.h"

/* CPU time is counted in slices of the scheduler, so one phase says little. What counts is
 * time on a core: beside other work a phase that took long may have done little. */
static const double least_on_core_s = 0.1, most_compute_s = 1.0;
enum { LEAST_COMPUTES = 3, MAX_COMPUTES = 200 };

/* A thread works in a call if it has such a part of the longest's CPU time. */
static const double least_at_work = 0.05;

/* What one thread did in the compute phases. Threads may change places from call to call,
 * so who worked longest is noted for each. */
struct share {
    double cpu_s, runqueue_wait_s,
        steal_s;      /* on a core; waiting for one; taken by the host from it */
    double longest_s; /* on a core, in calls in which no other thread was longer */
    double active_s;  /* all three, but for waiting for the own team, of each call at most the
                       longest  thread's time on a core */
};

/* What can be seen of the threads between two calls. */
struct snapshot {
    struct numalab_threads threads;
    struct numalab_steal_times steal;
};

struct placement {
    struct numalab_job job; /* of one rank */
    const struct numalab_node *node;
    struct numalab_results results;
    struct numalab_single_thread single_thread; /* beside it, where that is asked for */
    struct snapshot snapshot;                   /* the newest */
    struct share *share;                        /* of each thread */
    size_t share_count;
    json_t *residency;
    size_t computes;
    double core_s; /* in these, of whoever had most in each */
};

static void free_snapshot(struct snapshot *snapshot)
{
    numalab_threads_free(&snapshot->threads);
    numalab_steal_times_free(&snapshot->steal);
}

static int take_snapshot(struct numalab_worker *worker, const struct numalab_node *node,
                         struct snapshot *snapshot)
{
    *snapshot = (struct snapshot){0};
    int error = numalab_threads_read(worker->pid, &snapshot->threads);
    if (error < 0) return numalab_worker_fail_obstructed(worker, "list the threads", error);
    /* A thread that is not bound may run on PUs that the node could have. */
    for (size_t i = 0; i < snapshot->threads.count; i++)
        if (snapshot->threads.list[i].allowed)
            hwloc_bitmap_and(snapshot->threads.list[i].allowed, snapshot->threads.list[i].allowed,
                             hwloc_topology_get_topology_cpuset(node->topology));
    /* Where it can't be read, nothing is known to be stolen. */
    numalab_steal_times_read("/proc/stat", &snapshot->steal);
    return 0;
}

/* What the thread with a number did between two looks. */
static struct share share_of_call(const struct snapshot *start, const struct snapshot *end,
                                  size_t number)
{
    const struct numalab_thread *thread = &end->threads.list[number];
    const int earlier = numalab_threads_number(&start->threads, thread->id);
    struct share share = {.cpu_s = thread->cpu_s, .runqueue_wait_s = thread->runqueue_wait_s};
    if (earlier >= 0) {
        share.cpu_s -= start->threads.list[earlier].cpu_s;
        share.runqueue_wait_s -= start->threads.list[earlier].runqueue_wait_s;
    }
    if (thread->allowed)
        share.steal_s = numalab_steal_times_max_s(&start->steal, &end->steal, thread->allowed);
    return share;
}

/* What a thread waited because others of its team had the PUs that it may run on: where more of
 * them work than there are. A team of more threads than cores is not kept from them by others. */
static double team_wait_s(const struct snapshot *start, const struct snapshot *end, size_t number,
                          double least_cpu_s)
{
    const hwloc_const_bitmap_t own = end->threads.list[number].allowed;
    double others_s = 0.0;
    int working = 1;
    if (!own) return 0.0;
    for (size_t i = 0; i < end->threads.count; i++) {
        const struct numalab_thread *other = &end->threads.list[i];
        if (i == number || !other->allowed || !hwloc_bitmap_intersects(own, other->allowed))
            continue;
        const double cpu_s = share_of_call(start, end, i).cpu_s;
        others_s += cpu_s;
        working += cpu_s >= least_cpu_s;
    }
    const int pus = hwloc_bitmap_weight(own);
    return pus > 0 && working > pus ? others_s / pus : 0.0;
}

/* Adds what the threads did between two looks; they are in the same order, those of the
 * later look perhaps more. Returns the seconds on a core of whoever had most. */
static double add_call(struct share *sum, const struct snapshot *start, const struct snapshot *end)
{
    size_t longest = 0;
    double longest_s = -1.0;
    for (size_t i = 0; i < end->threads.count; i++) {
        const double cpu_s = share_of_call(start, end, i).cpu_s;
        if (cpu_s > longest_s) {
            longest = i;
            longest_s = cpu_s;
        }
    }
    for (size_t i = 0; i < end->threads.count; i++) {
        const struct share call = share_of_call(start, end, i);
        const double for_team_s = team_wait_s(start, end, i, least_at_work * longest_s);
        const double kept_s =
            call.runqueue_wait_s > for_team_s ? call.runqueue_wait_s - for_team_s : 0.0;
        const double active_s = call.cpu_s + kept_s + call.steal_s;
        sum[i].cpu_s += call.cpu_s;
        sum[i].runqueue_wait_s += call.runqueue_wait_s;
        sum[i].steal_s += call.steal_s;
        sum[i].active_s += active_s < longest_s ? active_s : longest_s;
    }
    sum[longest].longest_s += longest_s;
    return longest_s;
}

/* One more compute phase; what is seen after it takes the place of the look before. */
static int run_call(struct placement *placement, const struct numalab_driver *driver)
{
    struct numalab_worker *worker = &placement->job.rank[0];
    struct snapshot end;
    const double before_s = numalab_proc_cpu_s(worker->pid);
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0) return -1;
    placement->single_thread.team_cpu_s += numalab_proc_cpu_s(worker->pid) - before_s;
    if (take_snapshot(worker, placement->node, &end) < 0) return -1;
    const size_t count = end.threads.count, earlier = placement->share_count;
    if (count > earlier) {
        struct share *share = realloc(placement->share, count * sizeof *share);
        if (!share) {
            free_snapshot(&end);
            return numalab_worker_kit_error(worker, "list the threads", -ENOMEM);
        }
        for (size_t i = earlier; i < count; i++) share[i] = (struct share){0};
        placement->share = share;
        placement->share_count = count;
    }
    if (count) placement->core_s += add_call(placement->share, &placement->snapshot, &end);
    free_snapshot(&placement->snapshot);
    placement->snapshot = end;
    return 0;
}

/* The same with one thread after a call of the team: often enough that both get on alike, and
 * until it has had its time on a core. The team is looked at anew, since threads that spin do so
 * between calls, too. */
static int run_single_thread(struct placement *placement, const struct numalab_driver *driver)
{
    struct numalab_single_thread *one = &placement->single_thread;
    struct numalab_worker *worker = &placement->job.rank[0];
    const bool is_enough = one->computes > 0 && one->cpu_s >= least_on_core_s;
    if (is_enough || one->cpu_s > placement->core_s) return 0;
    numalab_single_thread_run(one, driver);
    if (numalab_single_thread_is_cancelled(one)) {
        numalab_worker_fail_as(worker, NUMALAB_CANCELLED);
        return numalab_job_fail(&placement->job, worker);
    }
    free_snapshot(&placement->snapshot);
    return take_snapshot(worker, placement->node, &placement->snapshot);
}

static int run(struct placement *placement, const struct numalab_run_options *options,
               struct numalab_oracle *oracle, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    limits.huge_pages = false; /* one written byte would place 512 pages */

    if (numalab_role_start(&placement->job, options, &options->role[0], 1, &limits) < 0 ||
        numalab_job_allocate(&placement->job, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_run(&placement->job, driver->initialize_phase) < 0)
        return -1;
    struct numalab_worker *worker = &placement->job.rank[0];
    driver->advance(oracle, driver->initialize_phase);
    if (options->has_single_thread_run)
        numalab_single_thread_start(&placement->single_thread, options, n);
    /* The first compute starts the team, if initialise has not. */
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0 ||
        take_snapshot(worker, placement->node, &placement->snapshot) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    placement->share_count = placement->snapshot.threads.count;
    placement->share = calloc(placement->share_count + 1, sizeof *placement->share);
    if (!placement->share) return numalab_worker_kit_error(worker, "list the threads", -ENOMEM);

    for (double spent_s = 0; placement->computes < LEAST_COMPUTES ||
                             (placement->core_s < least_on_core_s && spent_s < most_compute_s &&
                              placement->computes < MAX_COMPUTES);
         placement->computes++) {
        if (run_call(placement, driver) < 0) return -1;
        driver->advance(oracle, driver->compute_phase);
        spent_s += worker->elapsed_s;
        if (options->has_single_thread_run && run_single_thread(placement, driver) < 0) return -1;
    }
    if (numalab_worker_stop(worker) < 0) return -1;
    placement->residency = numalab_residency_describe(worker, driver, &options->sampling);
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase,
                                              placement->computes};
    return numalab_job_compare_all(&placement->job, &expected, &placement->results);
}

static json_t *describe_cpu_time(const struct placement *placement)
{
    json_t *list = json_array();
    for (size_t i = 0; i < placement->share_count; i++) {
        const struct share *share = &placement->share[i];
        json_array_append_new(
            list, json_pack("{si sf sf sf sf sf}", "thread", (int)i, "cpu_s", share->cpu_s,
                            "runqueue_wait_s", share->runqueue_wait_s, "steal_s", share->steal_s,
                            "longest_s", share->longest_s, "demand_s", share->active_s));
    }
    return list;
}

/* Of private memory; the CPU time is that of the compute phase. */
json_t *numalab_run_placement(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n =
        options->n ? options->n : numalab_traced_n(driver, options->node, &options->sampling);
    struct placement placement = {.node = options->node};

    struct numalab_oracle *oracle = numalab_job_oracle(driver, n, 1, false);
    if (!oracle) return NULL;
    int failed = run(&placement, options, oracle, n);
    json_t *record =
        json_pack("{so sI sI so so so}", "seed",
                  json_sprintf("%016llx", (unsigned long long)options->sampling.seed), "n",
                  (json_int_t)n, "computes", (json_int_t)placement.computes, "results",
                  numalab_record_results(&placement.results, driver), "threads",
                  numalab_threads_describe(&placement.snapshot.threads, options->node), "residency",
                  placement.residency ? placement.residency : json_null());
    if (!failed) json_object_set_new(record, "cpu_time", describe_cpu_time(&placement));
    if (!failed && options->has_single_thread_run)
        json_object_set_new(record, "one_thread",
                            numalab_single_thread_describe(&placement.single_thread, driver));
    numalab_single_thread_free(&placement.single_thread);
    numalab_job_end(&placement.job);
    json_object_set_new(record, "outcome", numalab_record_job(&placement.job, driver));
    numalab_job_free(&placement.job);
    free_snapshot(&placement.snapshot);
    free(placement.share);
    driver->destroy(oracle);
    return record;
}
