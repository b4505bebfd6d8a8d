#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/job_results.h"
#include "monitor/record.h"
#include "runs.h"

/* One role's worker or ranks within the generation. */
struct runner {
    const struct numalab_role *role;
    struct numalab_job job;
    struct numalab_oracle *oracle;
    struct numalab_results results;
    struct numalab_job_changes changes;
    double initialize_s;
    bool is_cut; /* took longer than it may: ended, while the others go on */
};

struct generation {
    const struct numalab_run_options *options;
    struct numalab_random random;
    struct runner runner[NUMALAB_MAX_ROLES];
    json_t *samples;
    size_t n;
    size_t order; /* compute phases so far, over all roles */
    double origin_s;
};

static int start(struct generation *generation, struct runner *runner)
{
    const struct numalab_run_options *options = generation->options;
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, runner->role);
    limits.keeps_core = true;

    const size_t rank_count = driver->rank_counts ? runner->role->rank_count : 1;

    if (numalab_role_start(&runner->job, options, runner->role, rank_count, &limits) < 0) return -1;
    runner->oracle = numalab_job_oracle(driver, generation->n, rank_count, false);
    if (!runner->oracle) return numalab_job_kit_error(&runner->job, "make the oracle", -ENOMEM);
    if (numalab_job_allocate(&runner->job, generation->n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_run(&runner->job, driver->initialize_phase) < 0)
        return -1;
    driver->advance(runner->oracle, driver->initialize_phase);
    runner->initialize_s = runner->job.elapsed_s;
    return numalab_job_stop(&runner->job);
}

static void add_sample(struct generation *generation, const struct runner *runner,
                       size_t repetition, bool is_warm_up, double started_at_s, double elapsed_s)
{
    json_array_append_new(generation->samples,
                          json_pack("{ss sI sI sb sb sf sf}", "role", runner->role->name,
                                    "repetition", (json_int_t)repetition, "order",
                                    (json_int_t)generation->order++, "warm_up", (int)is_warm_up,
                                    "cut", (int)runner->is_cut, "started_s",
                                    started_at_s - generation->origin_s, "elapsed_s", elapsed_s));
}

/* The compute phase. Where it takes longer than the role may, its worker or ranks are ended. */
static int compute(struct generation *generation, struct runner *runner)
{
    const struct numalab_driver *driver = generation->options->driver;
    struct numalab_job *job = &runner->job;
    struct numalab_limits *limits = &job->rank[0].limits;
    limits->cut_s = runner->role->cut_s;
    const int done = numalab_job_run(job, driver->compute_phase);
    limits->cut_s = 0.0;
    if (done == 0) return 0;
    if (!job->failed->outcome.is_cut) return -1;
    numalab_job_free(job);
    runner->is_cut = true;
    return 0;
}

/* One timed compute phase; the workers stand still before and after it, and the
 * inputs that it finds are new. */
static int repeat(struct generation *generation, struct runner *runner, size_t repetition,
                  bool is_warm_up)
{
    const struct numalab_driver *driver = generation->options->driver;
    struct numalab_job *job = &runner->job;

    if (runner->is_cut) return 0;
    if (numalab_job_change_inputs(job, driver, runner->oracle, &generation->random,
                                  &runner->changes) < 0 ||
        numalab_job_continue(job) < 0)
        return -1;
    const double before_s = numalab_now_s();
    if (compute(generation, runner) < 0) return -1;
    if (runner->is_cut) {
        add_sample(generation, runner, repetition, is_warm_up, before_s, runner->role->cut_s);
        return 0;
    }
    if (numalab_job_stop(job) < 0) return -1;
    driver->advance(runner->oracle, driver->compute_phase);
    add_sample(generation, runner, repetition, is_warm_up, job->rank[0].started_at_s,
               job->elapsed_s);
    const struct numalab_expected expected = {driver, runner->oracle, driver->compute_phase,
                                              repetition};
    return numalab_job_spot_check(job, &expected, &generation->random, &runner->changes,
                                  &runner->results);
}

/* Whether another timed repetition is due; the first always is. */
static bool is_due(const struct generation *generation, size_t repetition, double start_s)
{
    const struct numalab_run_options *options = generation->options;
    return repetition <= 1 ||
           (repetition <= options->repetitions && numalab_now_s() - start_s < options->budget_s);
}

static int finish(struct generation *generation, struct runner *runner)
{
    const struct numalab_run_options *options = generation->options;
    const struct numalab_expected expected = {options->driver, runner->oracle,
                                              options->driver->compute_phase, options->repetitions};
    if (runner->is_cut) return 0;
    return numalab_job_compare_all(&runner->job, &expected, &runner->results);
}

/* All roles at once: each round runs every role once, in an order of its own. */
static int run_interleaved(struct generation *generation)
{
    const struct numalab_run_options *options = generation->options;
    size_t order[NUMALAB_MAX_ROLES];

    numalab_random_order(&generation->random, order, options->role_count);
    for (size_t i = 0; i < options->role_count; i++)
        if (start(generation, &generation->runner[order[i]]) < 0) return -1;
    const double start_s = numalab_now_s();
    for (size_t repetition = 0; is_due(generation, repetition, start_s); repetition++) {
        numalab_random_order(&generation->random, order, options->role_count);
        for (size_t i = 0; i < options->role_count; i++)
            if (repeat(generation, &generation->runner[order[i]], repetition, repetition == 0) < 0)
                return -1;
    }
    for (size_t i = 0; i < options->role_count; i++)
        if (finish(generation, &generation->runner[i]) < 0) return -1;
    return 0;
}

static int run_one_at_a_time(struct generation *generation)
{
    const struct numalab_run_options *options = generation->options;
    size_t order[NUMALAB_MAX_ROLES];

    numalab_random_order(&generation->random, order, options->role_count);
    for (size_t i = 0; i < options->role_count; i++) {
        struct runner *runner = &generation->runner[order[i]];
        if (start(generation, runner) < 0) return -1;
        const double start_s = numalab_now_s();
        for (size_t repetition = 0; is_due(generation, repetition, start_s); repetition++)
            if (repeat(generation, runner, repetition, repetition == 0) < 0) return -1;
        if (finish(generation, runner) < 0) return -1;
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

    json_t *roles = json_array();
    for (size_t i = 0; i < options->role_count; i++) {
        struct runner *runner = &generation.runner[i];
        numalab_job_end(&runner->job);
        json_array_append_new(roles,
                              json_pack("{ss so sf so so}", "role", runner->role->name,
                                        "environment", describe_environment(runner->role),
                                        "initialize_s", runner->initialize_s, "results",
                                        numalab_record_results(&runner->results, driver), "outcome",
                                        numalab_record_job(&runner->job, driver)));
        numalab_job_free(&runner->job);
        if (runner->oracle) driver->destroy(runner->oracle);
    }
    return json_pack("{so sI sI sb so so}", "seed",
                     json_sprintf("%016llx", (unsigned long long)generation.random.seed), "n",
                     (json_int_t)generation.n, "bytes_moved",
                     (json_int_t)driver->bytes_moved(generation.n), "one_at_a_time",
                     (int)options->one_at_a_time, "roles", roles, "samples", generation.samples);
}
