#include <stdbool.h>

#include "monitor/job_results.h"
#include "monitor/record.h"
#include "runs.h"
#include "monitor/threads.h"

/* Enough ranks that one has two neighbours, and two messages that threads may share; and enough
 * work that it is not always the main thread which comes first where any may. */
enum { RANKS = 3, COMPUTES = 50, PROBLEM_SIZE = 301 };

static json_t *level_name(int32_t number)
{
    static const char *const names[] = {"single", "funneled", "serialized", "multiple"};
    return number < 0 || number > 3 ? json_null() : json_string(names[number]);
}

static json_t *answer_of(const struct numalab_rank_notes *notes)
{
    return notes->answer == NUMALAB_NO_ANSWER ? json_null() : json_integer(notes->answer);
}

static json_t *describe(const struct numalab_worker *worker, const struct numalab_rank_notes *notes)
{
    struct numalab_threads threads = {0};
    numalab_threads_read(worker->pid, &threads);
    const json_int_t thread_count = (json_int_t)threads.count;
    numalab_threads_free(&threads);
    return json_pack("{sI so so so sI s{sI sI sI sI}}", "rank", (json_int_t)worker->rank,
                     "requested", level_name(notes->required), "provided",
                     level_name(notes->provided), "answer", answer_of(notes), "threads",
                     thread_count, "calls", "main", (json_int_t)notes->main_calls,
                     "main_in_parallel", (json_int_t)notes->main_calls_in_parallel, "other",
                     (json_int_t)notes->other_calls, "at_once", (json_int_t)notes->calls_at_once);
}

/* Starts MPI, and works for a while. */
static int work(struct numalab_job *job, const struct numalab_run_options *options,
                const struct numalab_role *role, const struct numalab_limits *limits, json_t *ranks)
{
    const struct numalab_driver *driver = options->driver;
    if (numalab_role_start(job, options, role, RANKS, limits) < 0 ||
        numalab_job_allocate(job, PROBLEM_SIZE, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_run(job, driver->initialize_phase) < 0)
        return -1;
    for (size_t i = 0; i < COMPUTES; i++)
        if (numalab_job_run(job, driver->compute_phase) < 0) return -1;
    if (numalab_job_stop(job) < 0) return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        struct numalab_rank_notes notes;
        if (numalab_job_read_notes(job, i, &notes) < 0) return -1;
        json_array_append_new(ranks, describe(&job->rank[i], &notes));
    }
    return 0;
}

/* What MPI named of another level than it was asked for, and what the kernel answered. */
static int ask_again(struct numalab_job *job, const struct numalab_run_options *options,
                     const struct numalab_role *role, const struct numalab_limits *limits,
                     json_t *answers)
{
    if (numalab_role_start(job, options, role, RANKS, limits) < 0) return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        struct numalab_rank_notes notes;
        if (numalab_job_read_notes(job, i, &notes) < 0) return -1;
        json_array_append_new(
            answers, json_pack("{so so so}", "requested", level_name(notes.required), "provided",
                               level_name(notes.provided), "answer", answer_of(&notes)));
    }
    return 0;
}

/* Whether a kernel ended its program, or crashed: what it does where it is not given what it asks
 * for, and no reason to doubt the rest. */
static bool has_ended(const struct numalab_job *job)
{
    const enum numalab_outcome_kind kind = job->failed ? job->failed->outcome.kind : NUMALAB_OK;
    return kind == NUMALAB_EXITED || kind == NUMALAB_CRASHED;
}

/* Also what level they ask MPI for, and what they answer when it provides less, or more. */
json_t *numalab_run_thread_level(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_role role = options->role[0];
    struct numalab_limits limits = numalab_limits_of_role(options, &role);
    struct numalab_job job = {0};
    json_t *ranks = json_array(), *answers = json_array(), *ended = NULL;

    limits.modes = NUMALAB_LINGERS;
    int failed = work(&job, options, &role, &limits, ranks);
    numalab_job_end(&job);
    json_t *outcome = numalab_record_job(&job, driver);
    if (!failed) {
        numalab_job_free(&job);
        limits.modes |= NUMALAB_OTHER_THREAD_SUPPORT;
        failed = ask_again(&job, options, &role, &limits, answers);
        numalab_job_end(&job);
        if (failed && has_ended(&job)) {
            ended = numalab_record_job(&job, driver);
        } else if (failed) {
            json_decref(outcome);
            outcome = numalab_record_job(&job, driver);
        }
    }
    json_t *record =
        json_pack("{so so so}", "ranks", ranks, "other_levels", answers, "outcome", outcome);
    if (ended) json_object_set_new(record, "ended_with_other_level", ended);
    numalab_job_free(&job);
    return record;
}
