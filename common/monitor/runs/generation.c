#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/job_results.h"
#include "monitor/messages.h"
#include "monitor/proc.h"
#include "monitor/processes/heartbeat.h"
#include "monitor/record.h"
#include "runs.h"
#include "slots.h"

/* What the arrays of roles should hold. The kit's own, of as many ranks and interleaved, get the
 * same inputs, and have it in common. A student's kernel gets others: it could look for its results
 * in the memory of who has had its turn before. */
struct truth {
    size_t rank_count;
    bool is_reference_run;
    struct numalab_oracle *oracle;
    struct numalab_job_changes changes; /* of the inputs, before this repetition */
};

/* One role's worker or ranks within the generation. */
struct runner {
    const struct numalab_role *role;
    struct numalab_job job;
    struct truth *truth;
    struct numalab_messages messages; /* of a ping-pong */
    struct numalab_results results;
    double initialize_s;
    double taken_s; /* in all that was waited for: until it was there, and for each request */
    bool is_cut;    /* took longer than it may: ended, while the others go on */
    bool is_lost;   /* may fail, and has */
    struct numalab_slots slots; /* of a kernel whose threads count */
    bool has_slots;
};

struct replicate {
    const struct numalab_run_options *options;
    struct numalab_random random;
    struct runner runner[NUMALAB_MAX_ROLES];
    struct truth truth[NUMALAB_MAX_ROLES];
    size_t truth_count;
    json_t *samples;
    size_t n;
    size_t repetition; /* of all roles, or of the one whose turn it is; 0: to warm up */
    size_t order;      /* compute phases so far, over all roles */
    double origin_s;
    double begun_s;    /* as origin_s, by the clock that stands still while the node pauses */
    double optional_s; /* by that clock, spent on roles that may fail */
    double paused_s;   /* of the node's pauses, those after which all workers were stopped again */
    size_t spoilt_count; /* rounds, or repetitions of one role, in which the node paused */
    bool is_held_up;     /* too many of them */
};

/* Where a node pauses more often within a second or two, there is nothing to be had from it. */
enum { MOST_SPOILT = 4 };

/* Seconds in which the node did not pause. */
static double unpaused_s(const struct replicate *replicate)
{
    const struct numalab_elapsed lived =
        numalab_heartbeat_read(replicate->options->limits.heartbeat);
    return lived.elapsed_s - lived.paused_s;
}

/* Its part in the generation has ended, and the others' goes on. */
static bool is_over(const struct runner *runner)
{
    return runner->is_cut || runner->is_lost;
}

/* As unpaused_s, less what roles that may fail have taken: by this the rounds go. */
static double counted_s(const struct replicate *replicate)
{
    return unpaused_s(replicate) - replicate->optional_s;
}

/* A step of one role, unless its part has ended. Where it fails, and the role may, that ends its
 * part; what it takes is not counted to the rounds then. Ctrl-C is everybody's end. */
static int step(struct replicate *replicate, struct runner *runner,
                int (*take)(struct replicate *, struct runner *))
{
    if (is_over(runner)) return 0;
    if (!runner->role->may_fail) return take(replicate, runner);
    const double before_s = unpaused_s(replicate);
    int done = take(replicate, runner);
    const struct numalab_worker *failed = runner->job.failed;
    if (done < 0 && !(failed && failed->outcome.kind == NUMALAB_CANCELLED)) {
        numalab_job_end(&runner->job);
        runner->is_lost = true;
        done = 0;
    }
    replicate->optional_s += unpaused_s(replicate) - before_s;
    return done;
}

/* Of arrays that are initialised; NULL without memory. */
static struct truth *find_truth(struct replicate *replicate, const struct numalab_role *role,
                                size_t rank_count)
{
    const struct numalab_run_options *options = replicate->options;
    const struct numalab_driver *driver = options->driver;
    const bool is_shared = role->is_reference && !options->is_sequential;
    for (size_t i = 0; i < replicate->truth_count && is_shared; i++)
        if (replicate->truth[i].is_reference_run && replicate->truth[i].rank_count == rank_count)
            return &replicate->truth[i];
    struct truth *truth = &replicate->truth[replicate->truth_count];
    truth->rank_count = rank_count;
    truth->is_reference_run = role->is_reference;
    truth->oracle = numalab_job_oracle(driver, replicate->n, rank_count, false);
    if (!truth->oracle) return NULL;
    driver->advance(truth->oracle, driver->initialize_phase);
    replicate->truth_count++;
    return truth;
}

static int launch(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_run_options *options = replicate->options;
    const struct numalab_role *role = runner->role;
    struct numalab_limits limits = numalab_limits_of_role(options, role);
    limits.keeps_core = true;
    limits.phases = 0; /* who times them has a limit of its own for all of them */
    const size_t rank_count = options->driver->rank_counts ? role->rank_count : 1;
    return numalab_role_launch(&runner->job, options, role, rank_count, &limits);
}

static int foresee(struct replicate *replicate, struct runner *runner)
{
    struct numalab_job *job = &runner->job;
    runner->truth = find_truth(replicate, runner->role, job->rank_count);
    return runner->truth ? 0 : numalab_job_kit_error(job, "make the oracle", -ENOMEM);
}

static int allocate(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_driver *driver = replicate->options->driver;
    const double before_s = numalab_now_s();
    if (numalab_role_connect(&runner->job, driver) < 0 ||
        numalab_job_allocate(&runner->job, replicate->n, driver, NUMALAB_ANONYMOUS) < 0)
        return -1;
    runner->taken_s += numalab_now_s() - before_s;
    return numalab_job_stop(&runner->job);
}

/* Alone: which thread is the first to write a page may depend on what runs beside it. */
static int initialize(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_driver *driver = replicate->options->driver;
    if (numalab_job_time(&runner->job, driver->initialize_phase) < 0) return -1;
    runner->initialize_s = runner->job.elapsed_s;
    runner->taken_s += runner->job.elapsed_s;
    return driver->repetitions ? numalab_messages_count(&runner->job, &runner->messages) : 0;
}

static int begin_still(struct replicate *replicate, struct runner *runner)
{
    (void)replicate;
    return numalab_job_begin_standstill(&runner->job);
}

/* Of count roles, in an order. Their processes come up at the same time, while the oracle is made,
 * and each stands still from when it is there. */
static int start(struct replicate *replicate, const size_t *order, size_t count)
{
    static int (*const takes[])(struct replicate *, struct runner *) = {launch, foresee, allocate,
                                                                        initialize, begin_still};
    for (size_t k = 0; k < sizeof takes / sizeof takes[0]; k++)
        for (size_t i = 0; i < count; i++)
            if (step(replicate, &replicate->runner[order[i]], takes[k]) < 0) return -1;
    return 0;
}

static void add_sample(struct replicate *replicate, const struct runner *runner, size_t repetition,
                       double started_at_s, double elapsed_s)
{
    json_array_append_new(replicate->samples,
                          json_pack("{ss sI sI sb sb sf sf}", "role", runner->role->name,
                                    "repetition", (json_int_t)repetition, "order",
                                    (json_int_t)replicate->order++, "warm_up",
                                    (int)(repetition == 0), "cut", (int)runner->is_cut, "started_s",
                                    started_at_s - replicate->origin_s, "elapsed_s", elapsed_s));
}

/* The compute phase. Where it takes longer than the role may, its worker or ranks are ended. */
static int compute(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_driver *driver = replicate->options->driver;
    struct numalab_job *job = &runner->job;
    struct numalab_limits *limits = &job->rank[0].limits;
    const double before_s = numalab_now_s();
    limits->cut_s = runner->role->cut_s;
    const int done = numalab_job_time(job, driver->compute_phase);
    limits->cut_s = 0.0;
    runner->taken_s += numalab_now_s() - before_s;
    if (done == 0) return 0;
    const struct numalab_outcome *outcome = &job->failed->outcome;
    if (outcome->kind != NUMALAB_TIMED_OUT || !outcome->timed_out.is_cut) return -1;
    numalab_job_free(job);
    runner->is_cut = true;
    return 0;
}

/* New inputs for roles whose job is one of as many ranks, and what the next compute phase is to
 * make of them. To warm up does with the first ones: nothing is paid for it, and it is looked at
 * as the others are. */
static int renew(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_driver *driver = replicate->options->driver;
    struct truth *truth = runner->truth;
    if (replicate->repetition > 0 &&
        numalab_job_draw_changes(&runner->job, driver, truth->oracle, &replicate->random,
                                 &truth->changes) < 0)
        return -1;
    driver->advance(truth->oracle, driver->compute_phase);
    return 0;
}

/* Whether it is to stand still but for its own turns. */
static bool is_still(const struct runner *runner)
{
    return runner->truth && !is_over(runner) && runner->job.rank_count &&
           runner->job.rank[0].pid > 0;
}

/* A process that nobody here has started, and whose parent has ended; 0: there is none. */
static pid_t find_orphan(const struct replicate *replicate)
{
    pid_t known[3 * NUMALAB_MAX_ROLES];
    size_t count = 0;
    for (size_t i = 0; i < replicate->options->role_count; i++) {
        const struct numalab_job *job = &replicate->runner[i].job;
        known[count++] = job->launcher.pid;
        known[count++] = job->rank_count ? job->rank[0].pid : 0;
        known[count++] = job->rank_count ? job->rank[0].sandbox_pid : 0;
    }
    return numalab_proc_unknown_child(getpid(), known, count);
}

/* Whether the others have done so, and have no processes beside those that stand still. */
static int check_others(struct replicate *replicate, const struct runner *timed)
{
    for (size_t i = 0; i < replicate->options->role_count; i++) {
        struct runner *other = &replicate->runner[i];
        if (!is_still(other) || other->role->is_reference) continue;
        if (other != timed && numalab_job_check_standstill(&other->job) < 0) return -1;
        if (numalab_job_check_processes(&other->job) < 0) return -1;
        if (!replicate->options->limits.sandbox && find_orphan(replicate))
            return numalab_job_fail_forked(&other->job, &other->job.rank[0]);
    }
    return 0;
}

/* One timed compute phase, or one to warm up; the workers stand still before and after it, and
 * the inputs that it finds then are new. */
static int repeat(struct replicate *replicate, struct runner *runner)
{
    const size_t repetition = replicate->repetition;
    const struct numalab_driver *driver = replicate->options->driver;
    struct numalab_job *job = &runner->job;

    if ((!runner->role->is_reference && numalab_job_check_standstill(job) < 0) ||
        (repetition > 0 && numalab_job_write_changes(job, driver, runner->truth->oracle,
                                                     &runner->truth->changes) < 0))
        return -1;
    const double before_s = numalab_now_s();
    if (compute(replicate, runner) < 0) return -1;
    if (runner->is_cut) {
        add_sample(replicate, runner, repetition, before_s, runner->role->cut_s);
        return 0;
    }
    if (check_others(replicate, runner) < 0) return -1;
    add_sample(replicate, runner, repetition, job->rank[0].started_at_s, job->elapsed_s);
    const struct numalab_expected expected = {driver, runner->truth->oracle, driver->compute_phase,
                                              repetition};
    if (driver->repetitions &&
        numalab_messages_check(job, driver->repetitions(replicate->n, false), replicate->n,
                               &runner->messages, &runner->results) < 0)
        return -1;
    if (numalab_job_check_mappings(job, &runner->results) < 0 ||
        numalab_job_spot_check(job, &expected, &replicate->random, &runner->truth->changes,
                               &runner->results) < 0)
        return -1;
    return runner->role->is_reference ? 0 : numalab_job_begin_standstill(job);
}

/* Where the program that is timed counts, after all its times are taken: whoever's addresses are
 * others there than in a program that notes stores is judged by both. */
static int check_slots(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_run_options *options = replicate->options;
    struct numalab_job *job = &runner->job;
    if (numalab_job_continue(job) < 0) return -1;
    if (numalab_slots_read(&job->rank[0], options->driver, runner->truth->oracle,
                           options->thread_count, options->node->line_bytes, &runner->slots) < 0)
        return numalab_job_fail(job, &job->rank[0]);
    runner->has_slots = true;
    return numalab_job_stop(job);
}

/* All elements, after the last repetition. Of the kit's own kernels the pages that are looked
 * at after each of them are enough: nobody's points depend on whether those kernels are right, the
 * audit looks at every element, and a node whose memory is at fault shows there, too. */
static int finish(struct replicate *replicate, struct runner *runner)
{
    const struct numalab_driver *driver = replicate->options->driver;
    if (runner->role->is_reference) return 0;
    const struct numalab_expected expected = {driver, runner->truth->oracle, driver->compute_phase,
                                              replicate->repetition};
    if (numalab_job_compare_all(&runner->job, &expected, &runner->results) < 0) return -1;
    return driver->counting ? check_slots(replicate, runner) : 0;
}

/* Each role once, in an order of its own. */
static int run_round(struct replicate *replicate)
{
    const size_t role_count = replicate->options->role_count;
    size_t order[NUMALAB_MAX_ROLES];

    /* The oracle's work comes before the order is drawn: it is before no role's more often. */
    for (size_t i = 0; i < replicate->truth_count; i++) {
        size_t k = 0;
        while (k < role_count && (replicate->runner[k].truth != &replicate->truth[i] ||
                                  is_over(&replicate->runner[k])))
            k++;
        if (k < role_count && step(replicate, &replicate->runner[k], renew) < 0) return -1;
    }
    numalab_random_order(&replicate->random, order, role_count);
    for (size_t i = 0; i < role_count; i++)
        if (step(replicate, &replicate->runner[order[i]], repeat) < 0) return -1;
    return 0;
}

/* Looks whether the node has paused since this was asked last: 1, 0, or -1. Who then continues all
 * processes of a job wakes workers that are to stand still. */
static int settle(struct replicate *replicate)
{
    struct numalab_heartbeat *const heartbeat = replicate->options->limits.heartbeat;
    if (numalab_heartbeat_read(heartbeat).paused_s <= replicate->paused_s) return 0;
    const double paused_s = numalab_heartbeat_paused_s(heartbeat);
    if (paused_s <= replicate->paused_s) return 0;
    replicate->paused_s = paused_s;
    for (size_t i = 0; i < replicate->options->role_count; i++) {
        struct runner *runner = &replicate->runner[i];
        if (is_still(runner) && numalab_job_stop_again(&runner->job) < 0) return -1;
    }
    return 1;
}

/* Whether times that were just taken, from the first of these samples on, were spoilt by a pause:
 * 1, 0, or -1. One that was cut has used up what it may take, pauses left out. */
static int settle_samples(struct replicate *replicate, size_t first)
{
    const int has_paused = settle(replicate);
    if (has_paused <= 0) return has_paused;
    for (size_t i = first; i < json_array_size(replicate->samples); i++) {
        json_t *sample = json_array_get(replicate->samples, i);
        if (!json_is_true(json_object_get(sample, "cut")))
            json_object_set_new(sample, "paused", json_true());
    }
    replicate->is_held_up = ++replicate->spoilt_count > MOST_SPOILT;
    return 1;
}

/* All roles at once, round by round, until there have been as many as are due. */
static int run_interleaved(struct replicate *replicate)
{
    const struct numalab_run_options *options = replicate->options;
    size_t order[NUMALAB_MAX_ROLES];

    numalab_random_order(&replicate->random, order, options->role_count);
    if (start(replicate, order, options->role_count) < 0 || settle(replicate) < 0 ||
        run_round(replicate) < 0 || /* to warm up */
        settle(replicate) < 0)
        return -1;
    const double start_s = counted_s(replicate), preparing_s = start_s - replicate->begun_s;
    size_t whole = 0;
    while (!replicate->is_held_up && numalab_round_is_due(&options->rounds, whole, preparing_s,
                                                          counted_s(replicate) - start_s)) {
        const size_t first = json_array_size(replicate->samples);
        replicate->repetition++;
        if (run_round(replicate) < 0) return -1;
        const int is_spoilt = settle_samples(replicate, first);
        if (is_spoilt < 0) return -1;
        whole += !is_spoilt;
    }
    for (size_t i = 0; i < options->role_count; i++)
        if (step(replicate, &replicate->runner[i], finish) < 0) return -1;
    return 0;
}

/* There are no common rounds that could be ended for all: the number of repetitions is fixed
 * before the first role starts, or it would follow one role's times. */
static int run_sequentially(struct replicate *replicate)
{
    const struct numalab_run_options *options = replicate->options;
    size_t order[NUMALAB_MAX_ROLES];

    numalab_random_order(&replicate->random, order, options->role_count);
    for (size_t i = 0; i < options->role_count; i++) {
        struct runner *runner = &replicate->runner[order[i]];
        replicate->repetition = 0;
        if (start(replicate, &order[i], 1) < 0 || settle(replicate) < 0) return -1;
        for (size_t whole = 0; whole <= options->rounds.least && !replicate->is_held_up;) {
            const size_t first = json_array_size(replicate->samples);
            if (step(replicate, runner, renew) < 0 || step(replicate, runner, repeat) < 0)
                return -1;
            replicate->repetition++;
            const int is_spoilt = settle_samples(replicate, first);
            if (is_spoilt < 0) return -1;
            whole += !is_spoilt;
        }
        replicate->repetition -= replicate->repetition > 0;
        if (step(replicate, runner, finish) < 0) return -1;
        numalab_job_end(&runner->job);
        numalab_proc_end_children(); /* a launcher's, which the next role has not started */
    }
    return 0;
}

static json_t *describe_environment(const struct numalab_role *role)
{
    json_t *variables = json_object();
    for (size_t i = 0; i < role->variables.count; i++)
        json_object_set_new(variables, role->variables.list[i].name,
                            json_string(role->variables.list[i].value));
    return variables;
}

/* Repetitions of all roles are interleaved, and every time is taken. */
json_t *numalab_run_generation(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct replicate replicate = {
        .options = options, .samples = json_array(), .origin_s = numalab_now_s()};
    replicate.begun_s = unpaused_s(&replicate);
    replicate.n = numalab_timed_n(driver, options->node, options->size, options->thread_count);
    for (size_t i = 0; i < options->role_count; i++) replicate.runner[i].role = &options->role[i];
    struct numalab_job *first = &replicate.runner[0].job;
    /* More than this would push something out of memory, most likely a worker. */
    if (numalab_sizing_bytes(driver, replicate.n) > options->node->memory_bytes / 4 * 3)
        numalab_job_kit_error(first, "hold arrays of this size in the node's memory", -ENOMEM);
    else if (numalab_random_open(&replicate.random) < 0)
        numalab_job_kit_error(first, "seed the random numbers", -EIO);
    else if (options->is_sequential)
        run_sequentially(&replicate);
    else
        run_interleaved(&replicate);

    for (size_t i = 0; i < options->role_count; i++) numalab_job_kill(&replicate.runner[i].job);
    json_t *roles = json_array();
    for (size_t i = 0; i < options->role_count; i++) {
        struct runner *runner = &replicate.runner[i];
        numalab_job_end(&runner->job);
        json_t *role = json_pack("{ss so sf sf so so}", "role", runner->role->name, "environment",
                                 describe_environment(runner->role), "initialize_s",
                                 runner->initialize_s, "taken_s", runner->taken_s, "results",
                                 numalab_record_results(&runner->results, driver), "outcome",
                                 numalab_record_job(&runner->job, driver));
        if (runner->has_slots)
            json_object_set_new(role, "slots", numalab_slots_describe(&runner->slots));
        numalab_slots_free(&runner->slots);
        if (runner->role->may_fail) json_object_set_new(role, "may_fail", json_true());
        json_array_append_new(roles, role);
        numalab_job_free(&runner->job);
    }
    for (size_t i = 0; i < replicate.truth_count; i++) {
        driver->destroy(replicate.truth[i].oracle);
        numalab_job_changes_free(&replicate.truth[i].changes);
    }
    const size_t allocated = driver->bytes_allocated ? driver->bytes_allocated(replicate.n) : 0;
    const size_t loads = driver->loads_in_chain ? driver->loads_in_chain(replicate.n) : 0;
    return json_pack("{so sI sI sI sI sb sI sb so so}", "seed",
                     json_sprintf("%016llx", (unsigned long long)replicate.random.seed), "n",
                     (json_int_t)replicate.n, "bytes_moved",
                     (json_int_t)driver->bytes_moved(replicate.n), "bytes_allocated",
                     (json_int_t)allocated, "loads_in_chain", (json_int_t)loads, "one_at_a_time",
                     (int)options->is_sequential, "paused_rounds",
                     (json_int_t)replicate.spoilt_count, "held_up", (int)replicate.is_held_up,
                     "roles", roles, "samples", replicate.samples);
}
