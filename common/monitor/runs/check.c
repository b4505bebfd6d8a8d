#define _GNU_SOURCE
#include <errno.h>

#include "monitor/job_results.h"
#include "numalab/brief.h"
#include "monitor/record.h"
#include "runs.h"

/* Fewer elements than threads, sizes that no block or vector length divides, and
 * one that spans many pages. */
static const size_t sizes[] = {1, 7, 1000, 4099, 100003};
enum { SIZES = sizeof sizes / sizeof sizes[0], MAX_SIZES = 16, REPETITIONS = 3 };

static const size_t one_rank[] = {1, 0};

/* The driver's own sizes; or the usual ones up to its largest, and that one. Returns how
 * many. */
static size_t sizes_of(const struct numalab_driver *driver, size_t list[MAX_SIZES])
{
    size_t count = 0;
    for (const size_t *n = driver->check_n; n && *n != SIZE_MAX && count < MAX_SIZES; n++)
        list[count++] = *n;
    if (driver->check_n) return count;
    const size_t largest = driver->largest_check_n ? driver->largest_check_n : sizes[SIZES - 1];
    for (size_t i = 0; i < SIZES && sizes[i] < largest; i++) list[count++] = sizes[i];
    list[count++] = largest;
    return count;
}

/* How many messages each rank has sent and received so far. */
static int count_messages(struct numalab_job *job, uint64_t messages[NUMALAB_MAX_RANKS])
{
    for (size_t i = 0; i < job->rank_count; i++) {
        struct numalab_rank_notes notes;
        if (numalab_job_read_notes(job, i, &notes) < 0) return -1;
        messages[i] = notes.messages;
    }
    return 0;
}

/* A round trip is one message there and one back, whatever the results are. */
static int check_messages(struct numalab_job *job, size_t round_trips, uint64_t *before,
                          struct numalab_results *results)
{
    uint64_t now[NUMALAB_MAX_RANKS];
    if (count_messages(job, now) < 0) return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        if (now[i] - before[i] < 2 * round_trips) {
            results->messages_asked = 2 * round_trips;
            results->messages_seen = now[i] - before[i];
        }
        before[i] = now[i];
    }
    return 0;
}

/* After a call of the kernel nothing of it is under way. */
static int check_requests(struct numalab_job *job, const char *phase,
                          struct numalab_results *results)
{
    for (size_t i = 0; i < job->rank_count && !results->requests.count; i++) {
        struct numalab_rank_notes notes;
        if (numalab_job_read_notes(job, i, &notes) < 0) return -1;
        for (int fault = 0; fault < NUMALAB_REQUEST_FAULTS && !results->requests.count; fault++) {
            results->requests = notes.requests[fault];
            results->request_fault = (enum numalab_request_fault)fault;
            results->requests_rank = i;
            results->requests_phase = phase;
        }
    }
    return 0;
}

static int check_size(struct numalab_job *job, const struct numalab_driver *driver,
                      struct numalab_oracle *oracle, struct numalab_random *random, size_t n,
                      struct numalab_results *results)
{
    struct numalab_expected expected = {driver, oracle, driver->initialize_phase, 0};
    struct numalab_job_changes changes;
    uint64_t messages[NUMALAB_MAX_RANKS];

    if (numalab_job_allocate(job, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_prepare(job) < 0 || numalab_job_run(job, driver->initialize_phase) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    if (numalab_job_stop(job) < 0 || numalab_job_compare_all(job, &expected, results) < 0)
        return -1;
    expected.phase = driver->compute_phase;
    if (driver->repetitions && count_messages(job, messages) < 0) return -1;

    for (; expected.repetition < REPETITIONS; expected.repetition++) {
        if (numalab_job_change_inputs(job, driver, oracle, random, &changes) < 0 ||
            numalab_job_continue(job) < 0 || numalab_job_run(job, driver->compute_phase) < 0)
            return -1;
        driver->advance(oracle, driver->compute_phase);
        if (numalab_job_stop(job) < 0 || numalab_job_compare_all(job, &expected, results) < 0)
            return -1;
        if (driver->repetitions &&
            check_messages(job, driver->repetitions(n, true), messages, results) < 0)
            return -1;
        if (driver->rank_counts && check_requests(job, driver->compute_phase, results) < 0)
            return -1;
    }
    if (numalab_job_check_before(job, results) < 0 || numalab_job_continue(job) < 0) return -1;
    return driver->destroy_phase ? numalab_job_run(job, driver->destroy_phase) : 0;
}

/* Ranks that share cores get on much faster where their threads need not take the same ones.
 * One alone keeps its threads on cores of their own: only threads that meet show a race. */
static struct numalab_role role_to_check(const struct numalab_run_options *options,
                                         size_t rank_count)
{
    struct numalab_role role = options->role[0];
    numalab_variables_set(&role.variables, NUMALAB_BRIEF_VARIABLE, "1");
    if (options->synchronous_sends)
        numalab_variables_set(&role.variables, NUMALAB_SYNCHRONOUS_VARIABLE, "1");
    if (rank_count > 1) numalab_variables_set(&role.variables, "OMP_PROC_BIND", "false");
    return role;
}

/* All sizes in one job. Wrong results of ranks end it, too: what is wrong with two of them
 * need not be looked at with four. */
static int check_job(struct numalab_job *job, const struct numalab_run_options *options,
                     size_t rank_count, struct numalab_random *random, json_t *checks)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_role role = role_to_check(options, rank_count);
    struct numalab_limits limits = numalab_limits_of_role(options, &role);
    if (rank_count > 1) limits.patience = NUMALAB_RANK_PATIENCE;
    size_t list[MAX_SIZES];
    const size_t count = sizes_of(driver, list);
    int failed = numalab_role_start(job, options, &role, rank_count, &limits);
    bool is_wrong = false;

    for (size_t i = 0; !failed && i < count; i++) {
        struct numalab_results results = {0};
        struct numalab_oracle *oracle = numalab_job_oracle(driver, list[i], rank_count, true);
        failed = oracle ? check_size(job, driver, oracle, random, list[i], &results)
                        : numalab_job_kit_error(job, "make the oracle", -ENOMEM);
        if (oracle) driver->destroy(oracle);
        json_t *check = json_pack("{sI so}", "n", (json_int_t)list[i], "results",
                                  numalab_record_results(&results, driver));
        if (driver->rank_counts)
            json_object_set_new(check, "ranks", json_integer((json_int_t)rank_count));
        json_array_append_new(checks, check);
        is_wrong = is_wrong || results.wrong > 0 || results.messages_asked > 0 ||
                   results.requests.count > 0;
        if (is_wrong && driver->rank_counts) break;
    }
    numalab_job_end(job);
    return failed ? -1 : is_wrong;
}

/* Guards end at the last byte, and inputs change between repetitions. */
json_t *numalab_run_check(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_job job = {0};
    struct numalab_random random = {0};
    json_t *checks = json_array();
    int done = 0;

    const int seeded = numalab_random_open(&random);
    for (const size_t *ranks = driver->rank_counts ? driver->rank_counts : one_rank;
         *ranks && done == 0; ranks++) {
        numalab_job_free(&job);
        done = seeded < 0 ? numalab_job_kit_error(&job, "seed the random numbers", seeded)
                          : check_job(&job, options, *ranks, &random, checks);
    }
    json_t *record =
        json_pack("{so so so}", "seed", json_sprintf("%016llx", (unsigned long long)random.seed),
                  "checks", checks, "outcome", numalab_record_job(&job, driver));
    if (driver->rank_counts)
        json_object_set_new(record, "synchronous_sends", json_boolean(options->synchronous_sends));
    numalab_job_free(&job);
    return record;
}
