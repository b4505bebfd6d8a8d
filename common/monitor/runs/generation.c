#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/job_results.h"
#include "monitor/record.h"
#include "runs.h"

/* What the arrays of roles should hold. Roles of as many ranks whose repetitions are interleaved
 * get the same inputs, and have it in common. */
struct truth {
    size_t rank_count;
    struct numalab_oracle *oracle;
    struct numalab_job_changes changes; /* of the inputs, before this repetition */
};

/* One role's worker or ranks within the generation. */
struct runner {
    const struct numalab_role *role;
    struct numalab_job job;
    struct truth *truth;
    struct numalab_results results;
    double initialize_s;
    double taken_s; /* in all that was waited for: until it was there, and for each request */
    bool is_cut;    /* took longer than it may: ended, while the others go on */
};

struct generation {
    const struct numalab_run_options *options;
    struct numalab_random random;
    struct runner runner[NUMALAB_MAX_ROLES];
    struct truth truth[NUMALAB_MAX_ROLES];
    size_t truth_count;
    json_t *samples;
    size_t n;
    size_t order; /* compute phases so far, over all roles */
    double origin_s;
};

/* Of arrays that are initialised; NULL without memory. */
static struct truth *find_truth(struct generation *generation, size_t rank_count)
{
    const struct numalab_run_options *options = generation->options;
    const struct numalab_driver *driver = options->driver;
    for (size_t i = 0; i < generation->truth_count && !options->one_at_a_time; i++)
        if (generation->truth[i].rank_count == rank_count) return &generation->truth[i];
    struct truth *truth = &generation->truth[generation->truth_count];
    truth->rank_count = rank_count;
    truth->oracle = numalab_job_oracle(driver, generation->n, rank_count, false);
    if (!truth->oracle) return NULL;
    driver->advance(truth->oracle, driver->initialize_phase);
    generation->truth_count++;
    return truth;
}

static int launch(const struct generation *generation, struct runner *runner)
{
    const struct numalab_run_options *options = generation->options;
    const struct numalab_role *role = runner->role;
    struct numalab_limits limits = numalab_limits_of_role(options, role);
    limits.keeps_core = true;
    limits.phases = 0; /* who times them has a limit of its own for all of them */
    const size_t rank_count = options->driver->rank_counts ? role->rank_count : 1;
    return numalab_role_launch(&runner->job, options, role, rank_count, &limits);
}

static int allocate(const struct generation *generation, struct runner *runner)
{
    const struct numalab_driver *driver = generation->options->driver;
    const double before_s = numalab_now_s();
    if (numalab_role_meet(&runner->job, driver) < 0 ||
        numalab_job_allocate(&runner->job, generation->n, driver, NUMALAB_ANONYMOUS) < 0)
        return -1;
    runner->taken_s += numalab_now_s() - before_s;
    return numalab_job_stop(&runner->job);
}

/* Alone: which thread is the first to write a page may depend on what runs beside it. */
static int initialize(const struct generation *generation, struct runner *runner)
{
    if (numalab_job_continue(&runner->job) < 0 ||
        numalab_job_run(&runner->job, generation->options->driver->initialize_phase) < 0)
        return -1;
    runner->initialize_s = runner->job.elapsed_s;
    runner->taken_s += runner->job.elapsed_s;
    return numalab_job_stop(&runner->job);
}

/* Of count roles, in an order. Their processes come up at the same time, while the oracle is made,
 * and each stands still from when it is there. */
static int start(struct generation *generation, const size_t *order, size_t count)
{
    struct runner *runner = generation->runner;
    for (size_t i = 0; i < count; i++)
        if (launch(generation, &runner[order[i]]) < 0) return -1;
    for (size_t i = 0; i < count; i++) {
        struct numalab_job *job = &runner[order[i]].job;
        runner[order[i]].truth = find_truth(generation, job->rank_count);
        if (!runner[order[i]].truth) return numalab_job_kit_error(job, "make the oracle", -ENOMEM);
    }
    for (size_t i = 0; i < count; i++)
        if (allocate(generation, &runner[order[i]]) < 0) return -1;
    for (size_t i = 0; i < count; i++)
        if (initialize(generation, &runner[order[i]]) < 0) return -1;
    return 0;
}

static void add_sample(struct generation *generation, const struct runner *runner,
                       size_t repetition, double started_at_s, double elapsed_s)
{
    json_array_append_new(generation->samples,
                          json_pack("{ss sI sI sb sb sf sf}", "role", runner->role->name,
                                    "repetition", (json_int_t)repetition, "order",
                                    (json_int_t)generation->order++, "warm_up",
                                    (int)(repetition == 0), "cut", (int)runner->is_cut, "started_s",
                                    started_at_s - generation->origin_s, "elapsed_s", elapsed_s));
}

/* The compute phase. Where it takes longer than the role may, its worker or ranks are ended. */
static int compute(struct generation *generation, struct runner *runner)
{
    const struct numalab_driver *driver = generation->options->driver;
    struct numalab_job *job = &runner->job;
    struct numalab_limits *limits = &job->rank[0].limits;
    const double before_s = numalab_now_s();
    limits->cut_s = runner->role->cut_s;
    const int done = numalab_job_run(job, driver->compute_phase);
    limits->cut_s = 0.0;
    runner->taken_s += numalab_now_s() - before_s;
    if (done == 0) return 0;
    if (!job->failed->outcome.is_cut) return -1;
    numalab_job_free(job);
    runner->is_cut = true;
    return 0;
}

/* New inputs for roles whose job is one of as many ranks, and what the next compute phase is to
 * make of them. */
static int renew(struct generation *generation, struct runner *runner)
{
    const struct numalab_driver *driver = generation->options->driver;
    struct truth *truth = runner->truth;
    if (numalab_job_draw_changes(&runner->job, driver, truth->oracle, &generation->random,
                                 &truth->changes) < 0)
        return -1;
    driver->advance(truth->oracle, driver->compute_phase);
    return 0;
}

/* One timed compute phase, number 0 to warm up; the workers stand still before and after it, and
 * the inputs that it finds are new. */
static int repeat(struct generation *generation, struct runner *runner, size_t repetition)
{
    const struct numalab_driver *driver = generation->options->driver;
    struct numalab_job *job = &runner->job;

    if (runner->is_cut) return 0;
    if (numalab_job_write_changes(job, driver, &runner->truth->changes) < 0 ||
        numalab_job_continue(job) < 0)
        return -1;
    const double before_s = numalab_now_s();
    if (compute(generation, runner) < 0) return -1;
    if (runner->is_cut) {
        add_sample(generation, runner, repetition, before_s, runner->role->cut_s);
        return 0;
    }
    if (numalab_job_stop(job) < 0) return -1;
    add_sample(generation, runner, repetition, job->rank[0].started_at_s, job->elapsed_s);
    const struct numalab_expected expected = {driver, runner->truth->oracle, driver->compute_phase,
                                              repetition};
    return numalab_job_spot_check(job, &expected, &generation->random, &runner->truth->changes,
                                  &runner->results);
}

/* All elements, after so many timed repetitions. Of the kit's own kernels the pages that are looked
 * at after each of them are enough: nobody's points depend on whether those kernels are right, the
 * audit looks at every element, and a node whose memory is at fault shows there, too. */
static int finish(struct generation *generation, struct runner *runner, size_t repetitions)
{
    const struct numalab_driver *driver = generation->options->driver;
    if (runner->is_cut || runner->role->is_kits_kernel) return 0;
    const struct numalab_expected expected = {driver, runner->truth->oracle, driver->compute_phase,
                                              repetitions};
    return numalab_job_compare_all(&runner->job, &expected, &runner->results);
}

/* Each role once, in an order of its own. */
static int run_round(struct generation *generation, size_t repetition)
{
    const size_t role_count = generation->options->role_count;
    size_t order[NUMALAB_MAX_ROLES];

    /* The oracle's work comes before the order is drawn: it is before no role's more often. */
    for (size_t i = 0; i < generation->truth_count; i++) {
        size_t k = 0;
        while (k < role_count && (generation->runner[k].truth != &generation->truth[i] ||
                                  generation->runner[k].is_cut))
            k++;
        if (k < role_count && renew(generation, &generation->runner[k]) < 0) return -1;
    }
    numalab_random_order(&generation->random, order, role_count);
    for (size_t i = 0; i < role_count; i++)
        if (repeat(generation, &generation->runner[order[i]], repetition) < 0) return -1;
    return 0;
}

/* All roles at once, round by round, until there have been as many as are due. */
static int run_interleaved(struct generation *generation)
{
    const struct numalab_run_options *options = generation->options;
    size_t order[NUMALAB_MAX_ROLES];

    numalab_random_order(&generation->random, order, options->role_count);
    if (start(generation, order, options->role_count) < 0) return -1;
    if (run_round(generation, 0) < 0) return -1; /* to warm up */
    const double start_s = numalab_now_s(), preparing_s = start_s - generation->origin_s;
    size_t rounds = 0;
    while (numalab_round_is_due(&options->rounds, rounds, preparing_s, numalab_now_s() - start_s))
        if (run_round(generation, ++rounds) < 0) return -1;
    for (size_t i = 0; i < options->role_count; i++)
        if (finish(generation, &generation->runner[i], rounds) < 0) return -1;
    return 0;
}

/* There are no common rounds that could be ended for all: the number of repetitions is fixed
 * before the first role starts, or it would follow one role's times. */
static int run_one_at_a_time(struct generation *generation)
{
    const struct numalab_run_options *options = generation->options;
    size_t order[NUMALAB_MAX_ROLES];

    numalab_random_order(&generation->random, order, options->role_count);
    for (size_t i = 0; i < options->role_count; i++) {
        struct runner *runner = &generation->runner[order[i]];
        if (start(generation, &order[i], 1) < 0) return -1;
        for (size_t repetition = 0; repetition <= options->rounds.least; repetition++)
            if ((!runner->is_cut && renew(generation, runner) < 0) ||
                repeat(generation, runner, repetition) < 0)
                return -1;
        if (finish(generation, runner, options->rounds.least) < 0) return -1;
        numalab_job_end(&runner->job);
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
    struct generation generation = {
        .options = options, .samples = json_array(), .origin_s = numalab_now_s()};
    generation.n = numalab_timed_n(driver, options->node, options->size, options->thread_count);
    for (size_t i = 0; i < options->role_count; i++) generation.runner[i].role = &options->role[i];
    struct numalab_job *first = &generation.runner[0].job;
    /* More than this would push something out of memory, most likely a worker. */
    if (numalab_sizing_bytes(driver, generation.n) > options->node->memory_bytes / 4 * 3)
        numalab_job_kit_error(first, "hold arrays of this size in the node's memory", -ENOMEM);
    else if (numalab_random_open(&generation.random) < 0)
        numalab_job_kit_error(first, "seed the random numbers", -EIO);
    else if (options->one_at_a_time)
        run_one_at_a_time(&generation);
    else
        run_interleaved(&generation);

    for (size_t i = 0; i < options->role_count; i++) numalab_job_kill(&generation.runner[i].job);
    json_t *roles = json_array();
    for (size_t i = 0; i < options->role_count; i++) {
        struct runner *runner = &generation.runner[i];
        numalab_job_end(&runner->job);
        json_array_append_new(
            roles, json_pack("{ss so sf sf so so}", "role", runner->role->name, "environment",
                             describe_environment(runner->role), "initialize_s",
                             runner->initialize_s, "taken_s", runner->taken_s, "results",
                             numalab_record_results(&runner->results, driver), "outcome",
                             numalab_record_job(&runner->job, driver)));
        numalab_job_free(&runner->job);
    }
    for (size_t i = 0; i < generation.truth_count; i++) driver->destroy(generation.truth[i].oracle);
    return json_pack("{so sI sI sb so so}", "seed",
                     json_sprintf("%016llx", (unsigned long long)generation.random.seed), "n",
                     (json_int_t)generation.n, "bytes_moved",
                     (json_int_t)driver->bytes_moved(generation.n), "one_at_a_time",
                     (int)options->one_at_a_time, "roles", roles, "samples", generation.samples);
}
