#define _GNU_SOURCE
#include <errno.h>
#include <stdbool.h>

#include "monitor/job_results.h"
#include "monitor/messages.h"
#include "monitor/record.h"
#include "runs.h"

/* Fewer elements than threads, sizes that no block or vector length divides, and
 * one that spans many pages. */
static const size_t sizes[] = {1, 7, 1000, 4099, 100003};
enum { SIZES = sizeof sizes / sizeof sizes[0], REPETITIONS = 3 };

/* Behind these come those around the number of threads, and some by chance: small ones with every
 * remainder by 64 once over all jobs of a check, since a vectorised loop may go wrong for one
 * remainder only, and of arrays larger ones with every remainder by 16. The seed is on record, and
 * the sizes are. Small ones are below 576, so that all of them together take as long as one large
 * one. With sends that wait, which shows deadlocks, the usual ones are enough. */
enum { SMALL_DIVISOR = 64, MOST_MULTIPLE = 8, LARGE_DIVISOR = 16 };
enum { TEAM_SIZES = 4, MOST_USUAL = 16 };
enum { MAX_SIZES = MOST_USUAL + TEAM_SIZES + SMALL_DIVISOR + LARGE_DIVISOR };

struct sizes {
    size_t count, usual; /* the usual ones come first */
    size_t n[MAX_SIZES];
};

static const size_t single_rank[] = {1, 0};

static void add_size(struct sizes *list, size_t n)
{
    if (list->count < MAX_SIZES) list->n[list->count++] = n;
}

/* The driver's own sizes; or the usual ones up to its largest, and that one. */
static void add_usual(struct sizes *list, const struct numalab_driver *driver)
{
    for (const size_t *n = driver->check_n; n && *n != SIZE_MAX; n++) add_size(list, *n);
    list->usual = list->count;
    if (driver->check_n) return;
    const size_t largest = driver->largest_check_n ? driver->largest_check_n : sizes[SIZES - 1];
    for (size_t i = 0; i < SIZES && sizes[i] < largest; i++) add_size(list, sizes[i]);
    add_size(list, largest);
    list->usual = list->count;
}

/* What a lab's contract has as its smallest size; of ranks each has a row at least. */
static size_t least_size(const struct numalab_driver *driver, size_t rank_count)
{
    if (!driver->check_n) return 1;
    size_t least = SIZE_MAX;
    for (const size_t *n = driver->check_n; *n != SIZE_MAX; n++)
        if (*n < least) least = *n;
    return least < rank_count && driver->count ? rank_count : least;
}

/* From first to last, each power of two as likely as any other: first is at least 1. */
static size_t draw_between(struct numalab_random *random, size_t first, size_t last)
{
    size_t ranges = 1;
    while (last >> ranges >= first) ranges++;
    const size_t range = last >> numalab_random_next(random) % ranges;
    return first + (size_t)(numalab_random_next(random) % (range - first + 1));
}

static void add_small(struct sizes *list, struct numalab_random *random, size_t least, size_t job,
                      size_t job_count)
{
    for (size_t k = job; k < SMALL_DIVISOR; k += job_count) {
        const uint64_t multiple = numalab_random_next(random) % MOST_MULTIPLE;
        const size_t n = k + SMALL_DIVISOR * (size_t)multiple;
        add_size(list, n < least ? n + SMALL_DIVISOR : n);
    }
}

static void add_large(struct sizes *list, struct numalab_random *random, size_t largest)
{
    const size_t first = SMALL_DIVISOR * MOST_MULTIPLE;
    for (size_t k = 0; k < LARGE_DIVISOR && first + LARGE_DIVISOR < largest; k++) {
        const size_t n = draw_between(random, first, largest - LARGE_DIVISOR);
        add_size(list, n / LARGE_DIVISOR * LARGE_DIVISOR + k);
    }
}

/* Arrays that are never as long as the small sizes are for what each thread says. */
static bool has_no_loop(const struct numalab_driver *driver)
{
    return driver->largest_check_n && driver->largest_check_n < SMALL_DIVISOR * MOST_MULTIPLE;
}

/* The sizes of one of a check's jobs, number job of job_count. */
static void sizes_of(struct sizes *list, const struct numalab_run_options *options, size_t job,
                     size_t job_count, size_t rank_count, struct numalab_random *random)
{
    const struct numalab_driver *driver = options->driver;
    const size_t least = least_size(driver, rank_count), threads = options->thread_count;
    const size_t team[TEAM_SIZES] = {2, threads - 1, threads, threads + 1};
    *list = (struct sizes){0};
    add_usual(list, driver);
    if (options->synchronous_sends || has_no_loop(driver)) return;
    for (size_t i = 0; i < TEAM_SIZES && !driver->check_n; i++)
        if (team[i] >= least) add_size(list, team[i]);
    add_small(list, random, least, job, job_count);
    if (!driver->check_n) add_large(list, random, list->n[list->usual - 1]);
}

/* What each rank of a ping-pong, or of another pattern, has sent in so many repetitions of it. */
struct sent {
    size_t round_trips, ranks;
    uint64_t rank[NUMALAB_MAX_RANKS];
};

static void note_sent(struct sent *sent, const struct numalab_messages *previous,
                      const struct numalab_messages *now)
{
    for (size_t i = 0; i < sent->ranks; i++)
        sent->rank[i] += now->rank[i].sent - previous->rank[i].sent;
}

static json_t *describe_sent(const struct sent *sent)
{
    json_t *messages = json_array();
    for (size_t i = 0; i < sent->ranks; i++)
        json_array_append_new(messages, json_integer((json_int_t)sent->rank[i]));
    return json_pack("{sI so}", "round_trips", (json_int_t)sent->round_trips, "messages", messages);
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
                      size_t repetitions, struct numalab_job_changes *changes,
                      struct numalab_results *results, struct sent *sent)
{
    struct numalab_expected expected = {driver, oracle, driver->initialize_phase, 0};
    struct numalab_messages messages;

    if (numalab_job_allocate(job, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_prepare(job) < 0 || numalab_job_run(job, driver->initialize_phase) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    if (numalab_job_stop(job) < 0 || numalab_job_compare_all(job, &expected, results) < 0)
        return -1;
    expected.phase = driver->compute_phase;
    if (driver->repetitions && numalab_messages_count(job, &messages) < 0) return -1;

    for (; expected.repetition < repetitions; expected.repetition++) {
        if (numalab_job_change_inputs(job, driver, oracle, random, changes) < 0 ||
            numalab_job_continue(job) < 0 || numalab_job_run(job, driver->compute_phase) < 0)
            return -1;
        driver->advance(oracle, driver->compute_phase);
        if (numalab_job_stop(job) < 0 || numalab_job_compare_all(job, &expected, results) < 0)
            return -1;
        if (driver->repetitions) {
            const struct numalab_messages previous = messages;
            const size_t round_trips = driver->repetitions(n, true);
            if (numalab_messages_check(job, round_trips, n, &messages, results) < 0) return -1;
            sent->round_trips += round_trips;
            note_sent(sent, &previous, &messages);
        }
        if (driver->rank_counts && check_requests(job, driver->compute_phase, results) < 0)
            return -1;
    }
    if (numalab_job_check_mappings(job, results) < 0) return -1;
    if (numalab_job_check_before(job, results) < 0 || numalab_job_continue(job) < 0) return -1;
    return driver->destroy_phase ? numalab_job_run(job, driver->destroy_phase) : 0;
}

/* Ranks that share cores get on much faster where their threads need not take the same ones.
 * One alone keeps its threads on cores of their own: only threads that meet show a race. */
static struct numalab_role role_to_check(const struct numalab_run_options *options,
                                         size_t rank_count)
{
    struct numalab_role role = options->role[0];
    if (rank_count > 1 && options->thread_count > 1)
        numalab_variables_set(&role.variables, "OMP_PROC_BIND", "false");
    return role;
}

static bool has_failure(const struct numalab_results *results)
{
    return results->mismatches > 0 || results->required_messages > 0 ||
           results->required_bytes > 0 || results->early_messages > 0 ||
           results->requests.count > 0;
}

/* All sizes in one job. Wrong results of ranks end it, too: what is wrong with two of them
 * need not be looked at with four. */
static int check_job(struct numalab_job *job, const struct numalab_run_options *options,
                     const struct sizes *list, size_t rank_count, struct numalab_random *random,
                     json_t *checks)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_role role = role_to_check(options, rank_count);
    struct numalab_limits limits = numalab_limits_of_role(options, &role);
    limits.modes = NUMALAB_IS_BRIEF;
    if (options->synchronous_sends) limits.modes |= NUMALAB_SYNCHRONOUS_SENDS;
    if (rank_count > 1) limits.patience = NUMALAB_RANK_PATIENCE;
    struct numalab_job_changes changes = {0};
    int failed = numalab_role_start(job, options, &role, rank_count, &limits);
    bool has_wrong = false;

    for (size_t i = 0; !failed && i < list->count; i++) {
        const size_t n = list->n[i];
        struct numalab_results results = {0};
        struct sent sent = {.ranks = rank_count};
        struct numalab_oracle *oracle = numalab_job_oracle(driver, n, rank_count, true);
        failed = oracle ? check_size(job, driver, oracle, random, n,
                                     i < list->usual ? REPETITIONS : 1, &changes, &results, &sent)
                        : numalab_job_kit_error(job, "make the oracle", -ENOMEM);
        if (oracle) driver->destroy(oracle);
        json_t *check = json_pack("{sI so}", "n", (json_int_t)n, "results",
                                  numalab_record_results(&results, driver));
        if (driver->rank_counts)
            json_object_set_new(check, "ranks", json_integer((json_int_t)rank_count));
        if (driver->repetitions) json_object_set_new(check, "sent", describe_sent(&sent));
        json_array_append_new(checks, check);
        has_wrong = has_wrong || has_failure(&results);
        if (has_wrong && driver->rank_counts) break;
    }
    numalab_job_changes_free(&changes);
    numalab_job_end(job);
    return failed ? -1 : has_wrong;
}

/* Guards end at the last byte, and inputs change between repetitions. */
json_t *numalab_run_check(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_job job = {0};
    struct numalab_random random = {0};
    json_t *checks = json_array();
    int done = 0;

    const size_t *const ranks = driver->rank_counts ? driver->rank_counts : single_rank;
    size_t job_count = 0;
    while (ranks[job_count]) job_count++;
    const int seeded = numalab_random_open(&random);
    for (size_t i = 0; i < job_count && done == 0; i++) {
        struct sizes list;
        numalab_job_free(&job);
        sizes_of(&list, options, i, job_count, ranks[i], &random);
        done = seeded < 0 ? numalab_job_kit_error(&job, "seed the random numbers", seeded)
                          : check_job(&job, options, &list, ranks[i], &random, checks);
    }
    json_t *record =
        json_pack("{so so so}", "seed", json_sprintf("%016llx", (unsigned long long)random.seed),
                  "checks", checks, "outcome", numalab_record_job(&job, driver));
    if (driver->rank_counts)
        json_object_set_new(record, "synchronous_sends", json_boolean(options->synchronous_sends));
    numalab_job_free(&job);
    return record;
}
