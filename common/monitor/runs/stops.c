#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "monitor/random.h"
#include "monitor/proc.h"
#include "monitor/record.h"
#include "monitor/steal_time.h"
#include "monitor/threads.h"
#include "numalab/random.h"
#include "single_thread.h"
#include "runs.h"

/* How many stops are drawn, and interruptions too short to count. How long a stop is, over the
 * least length that counts: scale, from least to most, drawn once, and a quarter more or less of
 * it. That least is so many times the longest time for which the monitor itself was kept from its
 * core before: then no stop of the node's own counts, or few. Where the node gets busy meanwhile
 * they are drawn anew, as long as may be. */
enum { LEAST_STOPS = 10, MORE_STOPS = 20, LEAST_SHORT = 4, MORE_SHORT = 6, MOST_TRIES = 3 };
enum { MOST_EVENTS = LEAST_STOPS + MORE_STOPS + LEAST_SHORT + MORE_SHORT };
static const double scale_least = 2.0, scale_most = 6.0, shorter = 0.8, longer = 1.25;
static const double least_over_gap = 10.0, least_length_s = 1e-3, most_length_s = 40e-3;
static const double most_lost = 0.25; /* of what they take, by the node, before that is done */

/* Between two of them the worker runs, in CPU time, so that they are two to it, too. */
static const double run_least_s = 3e-3, run_most_s = 10e-3;

/* How long the monitor watches itself; and what the worker is asked to watch for beyond what it all
 * takes on a quiet node, in which no stop begins that might not end before. Up to that much of all
 * that, or a part of it, is added: for how long it is says nothing of how much there is to find. */
static const double watch_itself_s = 0.3, spare_s = 0.05, added_most = 1.5;
static const double patience = 2.0;

/* What the node adds. A wait for a core is seen when it is over, by looks a millisecond apart.
 * Right before or behind a stop it is one with it. Another one may be a stop to the kernel if it is
 * as long as such a share of the least length. */
static const double arguable = 0.8, has_run_s = 1e-4;

/* Of what comes next: how long the worker runs before; for how long it is kept stopped, beside the
 * time that two signals take; and by how much its clock is ahead afterwards. */
struct event {
    double run_s, kept_s, ahead_s;
    bool counts;
};

/* Elements of the array `asked`. */
enum { WATCH, LEAST, AHEAD, REQUEST_LENGTH };

struct observed_stop {
    double least_s, most_s; /* between the moments that it lies within, and around */
};

struct stops {
    struct numalab_worker worker;
    const struct numalab_stop_detection *detection;
    struct numalab_random random;
    double gap_s, least_s, watch_s; /* gap_s: as above, the longest */
    struct event event[MOST_EVENTS];
    struct observed_stop observed[MOST_EVENTS];
    size_t planned, count;              /* count: that are over */
    double begin_s;                     /* when the worker was asked */
    double ahead_s;                     /* of the system's clock is the worker's */
    double ran_s;                       /* CPU time that it had, when it went on last */
    double stop_signal_s, stopped_at_s; /* of the stop that there is */
    double runqueue_wait_s, taken_s;    /* for a core, and by the host, meanwhile; of the worker */
    double waited_s;                    /* for a core, up to the last look */
    size_t arguable_count;              /* stops that other waits may be, and what those took */
    double arguable_s;
};

static double draw_between(struct numalab_random *random, double least, double most)
{
    return least + (most - least) * numalab_fraction(numalab_random_next(random));
}

/* The longest time between two readings of the clock. */
static double longest_gap_s(double watch_s)
{
    const double begin_s = numalab_now_s();
    double longest_s = 0.0;
    for (double before_s = begin_s; before_s - begin_s < watch_s;) {
        const double now_s = numalab_now_s();
        if (now_s - before_s > longest_s) longest_s = now_s - before_s;
        before_s = now_s;
    }
    return longest_s;
}

static double least_length(double gap_s)
{
    const double length_s = least_over_gap * gap_s;
    return length_s < least_length_s  ? least_length_s
           : length_s > most_length_s ? most_length_s
                                      : length_s;
}

/* In an order that is drawn: stops, every second one of which the clock alone makes, behind signals
 * as short as may be; and as short ones behind which nothing follows, which are none. So who counts
 * signals, or looks at another clock, finds others. */
static void draw(struct stops *stops, double least_s)
{
    struct numalab_random *random = &stops->random;
    const size_t count = LEAST_STOPS + (size_t)(numalab_random_next(random) % (MORE_STOPS + 1));
    const size_t other = LEAST_SHORT + (size_t)(numalab_random_next(random) % (MORE_SHORT + 1));
    const double scale =
        scale_least * pow(scale_most / scale_least, draw_between(random, 0.0, 1.0));
    double sum_s = spare_s + least_s;
    size_t order[MOST_EVENTS];
    stops->least_s = least_s;
    stops->count = 0;
    stops->planned = count + other;
    numalab_random_order(random, order, stops->planned);
    for (size_t i = 0; i < stops->planned; i++) {
        const double length_s = least_s * scale * draw_between(random, shorter, longer);
        struct event *event = &stops->event[i];
        *event = (struct event){.run_s = draw_between(random, run_least_s, run_most_s),
                                .counts = order[i] < count};
        if (event->counts && order[i] % 2)
            event->ahead_s = floor(1e9 * length_s) / 1e9;
        else if (event->counts)
            event->kept_s = length_s;
        sum_s += event->kept_s + event->ahead_s + patience * event->run_s;
    }
    stops->watch_s = sum_s * (1.0 + draw_between(random, 0.0, added_most));
}

/* ---- while the worker watches ------------------------------------------------------- */

/* Whether the next stop would be over before the worker has watched for as long as it is to. */
static bool has_time(const struct stops *stops)
{
    const struct event *next = &stops->event[stops->count];
    const double end_s = stops->begin_s + stops->watch_s - stops->ahead_s;
    return stops->count < stops->planned &&
           numalab_now_s() + next->kept_s + next->ahead_s + spare_s / 2 < end_s;
}

static bool has_run(const struct stops *stops)
{
    return numalab_proc_cpu_s(stops->worker.pid) - stops->ran_s >= stops->event[stops->count].run_s;
}

static double left_s(const struct stops *stops)
{
    return stops->stopped_at_s + stops->event[stops->count].kept_s - numalab_now_s();
}

static int timeout_ms(void *context)
{
    const struct stops *stops = context;
    if (!stops->worker.is_stopped) return 1;
    const double wait_ms = 1e3 * left_s(stops);
    return wait_ms < 1.0 ? wait_ms > 0.0 : (int)wait_ms;
}

/* Of a worker that is stopped. */
static int set_ahead(struct stops *stops)
{
    const int64_t ahead_ns = llround(1e9 * stops->ahead_s);
    const uint64_t address =
        stops->worker.address[stops->detection->request] + AHEAD * sizeof ahead_ns;
    return numalab_worker_write_or_fail(&stops->worker, address, &ahead_ns, sizeof ahead_ns);
}

static double waited_since(struct stops *stops)
{
    const double before_s = stops->waited_s;
    stops->waited_s = numalab_threads_runqueue_wait_s(stops->worker.pid, stops->worker.pid);
    return stops->waited_s > before_s ? stops->waited_s - before_s : 0.0;
}

/* While the worker runs. */
static void observe_waits(struct stops *stops)
{
    const double wait_s = waited_since(stops), may_count_s = arguable * stops->least_s;
    if (stops->count > 0 && numalab_proc_cpu_s(stops->worker.pid) - stops->ran_s < has_run_s)
        stops->observed[stops->count - 1].most_s += wait_s;
    else if (wait_s >= may_count_s) {
        stops->arguable_count += (size_t)(wait_s / may_count_s);
        stops->arguable_s += wait_s;
    }
}

static int begin_stop(struct stops *stops)
{
    observe_waits(stops);
    stops->stop_signal_s = numalab_now_s();
    if (numalab_worker_stop(&stops->worker) < 0) return -ECANCELED;
    stops->stopped_at_s = numalab_now_s();
    return 0;
}

static int end_stop(struct stops *stops)
{
    const double ahead_s = stops->event[stops->count].ahead_s;
    stops->ahead_s += ahead_s;
    if (ahead_s > 0.0 && set_ahead(stops) < 0) return -ECANCELED;
    const double around_s = ahead_s + waited_since(stops);
    const double before_s = numalab_now_s();
    stops->ran_s = numalab_proc_cpu_s(stops->worker.pid);
    if (numalab_worker_continue(&stops->worker) < 0) return -ECANCELED;
    stops->observed[stops->count++] =
        (struct observed_stop){ahead_s + before_s - stops->stopped_at_s,
                               around_s + numalab_now_s() - stops->stop_signal_s};
    return 0;
}

static int serve(void *context)
{
    struct stops *stops = context;
    if (stops->worker.is_stopped) return left_s(stops) > 0.0 ? 0 : end_stop(stops);
    observe_waits(stops);
    return has_time(stops) && has_run(stops) ? begin_stop(stops) : 0;
}

/* ---- the run --------------------------------------------------------------------------- */

/* What kept the main thread from its core so far, of which the worker is one. */
static int read_core_wait(struct stops *stops, double *runqueue_wait_s,
                          struct numalab_steal_times *steal, hwloc_bitmap_t pus)
{
    struct numalab_threads threads = {0};
    int error = numalab_threads_read(stops->worker.pid, &threads);
    if (error < 0) return numalab_worker_fail_obstructed(&stops->worker, "list the threads", error);
    *runqueue_wait_s = threads.count ? threads.list[0].runqueue_wait_s : 0.0;
    if (threads.count && threads.list[0].allowed) hwloc_bitmap_copy(pus, threads.list[0].allowed);
    numalab_threads_free(&threads);
    error = numalab_steal_times_read("/proc/stat", steal);
    return error < 0 ? numalab_worker_kit_error(&stops->worker, "read /proc/stat", error) : 0;
}

static int watch(struct stops *stops)
{
    const struct numalab_stop_detection *detection = stops->detection;
    const struct numalab_watch served = {
        .fd = -1, .serve = serve, .timeout_ms = timeout_ms, .context = stops};
    const int64_t request[REQUEST_LENGTH] = {
        [WATCH] = (int64_t)(1e9 * stops->watch_s), [LEAST] = (int64_t)(1e9 * stops->least_s)};
    struct numalab_worker *worker = &stops->worker;
    struct numalab_steal_times before = {0}, after = {0};
    double waiting_before_s = 0.0, runqueue_wait_s = 0.0;
    hwloc_bitmap_t pus = hwloc_bitmap_alloc();
    if (!pus) return numalab_worker_kit_error(worker, "look at its core", -ENOMEM);
    int failed = numalab_worker_write_or_fail(worker, worker->address[detection->request], request,
                                              sizeof request) < 0 ||
                 read_core_wait(stops, &waiting_before_s, &before, pus) < 0;
    stops->begin_s = numalab_now_s();
    stops->ahead_s = stops->arguable_s = 0.0;
    stops->arguable_count = 0;
    stops->waited_s = waiting_before_s;
    stops->ran_s = numalab_proc_cpu_s(worker->pid);
    failed = failed || numalab_worker_run(worker, detection->live_phase, &served) < 0 ||
             read_core_wait(stops, &runqueue_wait_s, &after, pus) < 0;
    if (!failed) {
        observe_waits(stops);
        stops->runqueue_wait_s = runqueue_wait_s - waiting_before_s;
        stops->taken_s = numalab_steal_times_max_s(&before, &after, pus);
    }
    numalab_steal_times_free(&before);
    numalab_steal_times_free(&after);
    hwloc_bitmap_free(pus);
    return failed ? -1 : 0;
}

static double stopped_s(const struct stops *stops)
{
    double sum_s = 0.0;
    for (size_t i = 0; i < stops->count; i++)
        if (stops->event[i].counts) sum_s += stops->observed[i].least_s;
    return sum_s;
}

/* Until the node takes little beside the stops, and their length is what it was meant to be. */
static int watch_again(struct stops *stops)
{
    stops->gap_s = longest_gap_s(watch_itself_s);
    double least_s = least_length(stops->gap_s);
    for (size_t tries = 1;; tries++) {
        draw(stops, least_s);
        if (watch(stops) < 0) return -1;
        const double lost_s = stops->arguable_s + stops->taken_s;
        /* Who does not watch for as long as he is to has no time for stops. */
        if (tries == MOST_TRIES || lost_s <= most_lost * stopped_s(stops) ||
            stops->worker.elapsed_s < stops->watch_s - stops->ahead_s)
            return 0;
        least_s = most_length_s;
    }
}

/* Those that count, or the others. */
static json_t *describe(const struct stops *stops, bool counts)
{
    json_t *list = json_array();
    for (size_t i = 0; i < stops->count; i++)
        if (stops->event[i].counts == counts)
            json_array_append_new(
                list, json_pack("[ff]", stops->observed[i].least_s, stops->observed[i].most_s));
    return list;
}

/* Reads what the kernel has told: *told: a list, of how many and of how long in nanoseconds. */
static int read_answer(struct stops *stops, json_t **answer)
{
    const struct numalab_stop_detection *detection = stops->detection;
    struct numalab_worker *worker = &stops->worker;
    int64_t count, stolen_ns;
    if (numalab_worker_read_or_fail(worker, worker->address[detection->stops], &count,
                                    sizeof count) < 0 ||
        numalab_worker_read_or_fail(worker, worker->address[detection->steal], &stolen_ns,
                                    sizeof stolen_ns) < 0)
        return -1;
    *answer = json_pack("[II]", (json_int_t)count, (json_int_t)stolen_ns);
    return 0;
}

/* For a driver that has a kernel find stops: of the worker, by signals or by the clock that it is
 * given, at moments and for times that are drawn, and that the monitor takes by its own clock. */
json_t *numalab_run_stops(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct stops stops = {.worker = numalab_no_worker,
                          .detection = driver->stop_detection,
                          .random = {.seed = options->sampling.seed}};
    json_t *answer = NULL;
    double elapsed_s = 0.0;

    if (numalab_worker_start(&stops.worker, options->role[0].program, &limits,
                             options->cancel_fd) == 0 &&
        numalab_worker_allocate(&stops.worker, driver->series->n, driver, NUMALAB_ANONYMOUS) == 0 &&
        numalab_worker_run(&stops.worker, driver->initialize_phase, NULL) == 0) {
        if (watch_again(&stops) == 0) {
            elapsed_s = stops.worker.elapsed_s;
            read_answer(&stops, &answer);
        }
    }
    numalab_worker_end(&stops.worker);
    return json_pack(
        "{so sf sf sf sf sf so so so sf sI sf sf so}", "seed",
        json_sprintf("%016llx", (unsigned long long)stops.random.seed), "gap_s", stops.gap_s,
        "least_s", stops.least_s, "watch_s", stops.watch_s, "elapsed_s", elapsed_s, "ahead_s",
        stops.ahead_s, "stops", describe(&stops, true), "too_short", describe(&stops, false),
        "reported", answer ? answer : json_null(), "runqueue_wait_s", stops.runqueue_wait_s,
        "arguable_stops", (json_int_t)stops.arguable_count, "arguable_s", stops.arguable_s,
        "taken_s", stops.taken_s, "outcome", numalab_record_outcome(&stops.worker, driver));
}
