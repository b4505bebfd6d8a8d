#include <errno.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/mapping.h"
#include "monitor/random.h"
#include "monitor/record.h"
#include "monitor/results.h"
#include "runs.h"
#include "stores.h"

/* For each thread so many elements that what it writes once, as its sums in the end, counts for
 * nothing beside what it writes for each; more by chance, since a kernel may ask for n. And no
 * more: on a busy node threads that wait for one another at each element take a time slice for
 * each. */
static const size_t least_each = 5000, more_each = 2500;

/* Threads of the team at least, as of races: two may come one after another. */
enum { LEAST_TEAM = 4 };

/* Lines that are told of one by one, those that are written most; and of each so many threads. */
enum { MOST_TOLD = 16, MOST_WRITERS_TOLD = 32 };

/* Teams with which the kernel is called once more each: of one thread, of a number that is no power
 * of two, and of more than it is likely to have counted on. */
static const size_t teams[] = {1, 3, 9};
enum { TEAMS = sizeof teams / sizeof teams[0] };

/* Counters of one thread at most. */
enum { MOST_COUNTERS = 64 };

/* What is seen of one line. */
struct line {
    uint64_t line, stores, most; /* most: by one thread */
    size_t first_note, writers;  /* of the notes, when they are sorted */
};

/* As phases write an element of the driver's array of slots. */
struct slot {
    uint64_t first, length, on_stack;
};

struct slots {
    size_t count, bad_lengths, unreadable; /* of threads that say that they count */
    size_t on_stack;                       /* ... in memory that is gone when count returns */
    int64_t least;                         /* of what one of them holds in all its counters */
    int64_t sum[MOST_COUNTERS];            /* of each counter, over all that were read */
    bool sums_right;
    uint64_t stores;           /* to lines with any counter */
    uint64_t most_apart_bytes; /* from the begin of one to that of the next */
};

struct seen {
    struct numalab_results results;
    uint64_t stores, lines, lost;
    uint64_t shared_lines, shared_stores; /* of lines with several writers: those of all but the
                                             thread that writes it most */
    struct slots slots, of_team[TEAMS];
    size_t teams;                              /* that were called */
    struct line most_written[MOST_TOLD];       /* the one written most comes first */
    uint64_t stores_of[NUMALAB_NOTED_THREADS]; /* by thread - 1 */
};

static int by_line(const void *one, const void *other)
{
    const struct numalab_store_note *a = one, *b = other;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static int by_begin(const void *one, const void *other)
{
    const struct slot *a = one, *b = other;
    return (a->first > b->first) - (a->first < b->first);
}

static void keep_most_written(struct seen *seen, struct line line)
{
    for (size_t i = 0; i < MOST_TOLD; i++)
        if (line.stores > seen->most_written[i].stores) {
            const struct line less = seen->most_written[i];
            seen->most_written[i] = line;
            line = less;
        }
}

static void add_line(struct seen *seen, const struct line *line)
{
    if (line->writers == 0) return;
    seen->lines++;
    seen->stores += line->stores;
    keep_most_written(seen, *line);
    if (line->writers < 2) return;
    seen->shared_lines++;
    seen->shared_stores += line->stores - line->most;
}

/* Sorts the notes. */
static void sum_up(struct numalab_store_notes *notes, struct seen *seen)
{
    struct line line = {0};
    qsort(notes->note, NUMALAB_STORE_NOTES, sizeof notes->note[0], by_line);
    seen->lost = notes->lost;
    for (size_t i = 0; i < NUMALAB_STORE_NOTES; i++) {
        const struct numalab_store_note *note = &notes->note[i];
        if (note->line == 0) continue;
        if (note->line != line.line) {
            add_line(seen, &line);
            line = (struct line){.line = note->line, .first_note = i};
        }
        line.writers++;
        line.stores += note->stores;
        if (note->thread <= NUMALAB_NOTED_THREADS)
            seen->stores_of[note->thread - 1] += note->stores;
        if (note->stores > line.most) line.most = note->stores;
    }
    add_line(seen, &line);
}

/* What each thread that is noted has loaded of the first array, and stored. */
static json_t *describe_threads(const struct seen *seen, const struct numalab_store_notes *notes)
{
    json_t *list = json_array();
    for (size_t i = 0; i < NUMALAB_NOTED_THREADS; i++)
        if (notes->loaded_bytes[i] || seen->stores_of[i])
            json_array_append_new(list, json_pack("[II]", (json_int_t)notes->loaded_bytes[i],
                                                  (json_int_t)seen->stores_of[i]));
    return list;
}

static int by_address(const void *one, const void *other)
{
    const struct line *a = one, *b = other;
    return (a->line > b->line) - (a->line < b->line);
}

/* Who writes the lines that are written most, in the order of their addresses; numbered from the
 * first of them, so that no address is on record. */
static json_t *describe_lines(struct seen *seen, const struct numalab_store_notes *notes)
{
    json_t *list = json_array();
    size_t count = 0;
    while (count < MOST_TOLD && seen->most_written[count].writers) count++;
    qsort(seen->most_written, count, sizeof seen->most_written[0], by_address);
    for (size_t i = 0; i < count; i++) {
        const struct line *line = &seen->most_written[i];
        json_t *writers = json_array();
        for (size_t k = 0; k < line->writers && k < MOST_WRITERS_TOLD; k++) {
            const struct numalab_store_note *note = &notes->note[line->first_note + k];
            json_array_append_new(
                writers, json_pack("[II]", (json_int_t)note->thread, (json_int_t)note->stores));
        }
        json_array_append_new(list,
                              json_pack("{sI sI so}", "line",
                                        (json_int_t)(line->line - seen->most_written[0].line),
                                        "stores", (json_int_t)line->stores, "by_thread", writers));
    }
    return list;
}

/* Has what runs next noted afresh; *notes_at: where. */
static int begin(struct numalab_worker *worker, size_t line_bytes, uint64_t *notes_at)
{
    struct numalab_message reply;
    const size_t n = worker->n;
    worker->n = line_bytes; /* what a request brings */
    const int failed = numalab_worker_ask(worker, NUMALAB_NOTE_STORES, &reply, NULL);
    worker->n = n;
    if (failed) return -1;
    if (reply.error < 0) return numalab_worker_obstructed(worker, "note stores", reply.error);
    *notes_at = reply.store_notes;
    return 0;
}

static int take(struct numalab_worker *worker, uint64_t notes_at, struct numalab_store_notes *notes,
                struct seen *seen)
{
    if (numalab_worker_read(worker, notes_at, notes, sizeof *notes) < 0) return -1;
    sum_up(notes, seen);
    return 0;
}

/* ---- where the kernel says that it counts -------------------------------------------- */

/* Adds up what is in the slots, and keeps those that can be read: *kept of them, in front. */
static void read_counters(const struct numalab_worker *worker, size_t length, struct slot *slot,
                          size_t count, size_t *kept, struct slots *slots)
{
    int64_t counter[MOST_COUNTERS];
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (slot[i].length == 0) continue;
        slots->count++;
        slots->on_stack += slot[i].on_stack != 0;
        if (slot[i].length != length)
            slots->bad_lengths++;
        else if (numalab_worker_peek(worker, slot[i].first, counter, length * sizeof *counter) < 0)
            slots->unreadable++;
        else {
            uint64_t held = 0;
            for (size_t k = 0; k < length; k++) {
                slots->sum[k] = (int64_t)((uint64_t)slots->sum[k] + (uint64_t)counter[k]);
                held += (uint64_t)counter[k];
            }
            if (*kept == 0 || (int64_t)held < slots->least) slots->least = (int64_t)held;
            slot[(*kept)++] = slot[i];
        }
    }
}

/* Slots and notes are sorted. Lines are counted once, however many slots share one. */
static uint64_t stores_to(const struct slot *slot, size_t count, size_t bytes,
                          const struct numalab_store_notes *notes, size_t line_bytes)
{
    uint64_t stores = 0;
    size_t at = 0;
    for (size_t i = 0; i < NUMALAB_STORE_NOTES; i++) {
        if (notes->note[i].line == 0) continue;
        const uint64_t line = notes->note[i].line - 1;
        while (at < count && (slot[at].first + bytes - 1) / line_bytes < line) at++;
        if (at < count && slot[at].first / line_bytes <= line) stores += notes->note[i].stores;
    }
    return stores;
}

/* Looks at the slots of a worker that stands still. Notes are sorted. */
static int look_at_slots(struct numalab_worker *worker, const struct numalab_run_options *options,
                         const struct numalab_oracle *oracle, size_t threads,
                         const struct numalab_store_notes *notes, struct slots *slots)
{
    const struct numalab_counting *counting = options->driver->counting;
    const size_t bytes = counting->length * sizeof(int64_t);
    struct numalab_mismatch mismatch;
    size_t kept = 0;
    struct slot *slot = calloc(threads, sizeof *slot);
    if (!slot) return numalab_worker_kit_error(worker, "look at the slots", -ENOMEM);
    const int failed = numalab_worker_read(worker, worker->address[counting->slots], slot,
                                           threads * sizeof *slot) < 0;
    if (!failed) {
        read_counters(worker, counting->length, slot, threads, &kept, slots);
        qsort(slot, kept, sizeof *slot, by_begin);
        slots->sums_right = options->driver->compare(oracle, counting->sums, 0, counting->length,
                                                     slots->sum, &mismatch) == 0;
        for (size_t i = 1; i < kept; i++)
            if (slot[i].first - slot[i - 1].first > slots->most_apart_bytes)
                slots->most_apart_bytes = slot[i].first - slot[i - 1].first;
        slots->stores = stores_to(slot, kept, bytes, notes, options->node->line_bytes);
    }
    free(slot);
    return failed ? -1 : 0;
}

static json_t *describe_slots(const struct slots *slots)
{
    return json_pack("{sI sI sI sI sI sb sI sI}", "count", (json_int_t)slots->count, "bad_lengths",
                     (json_int_t)slots->bad_lengths, "on_stack", (json_int_t)slots->on_stack,
                     "unreadable", (json_int_t)slots->unreadable, "least_keys",
                     (json_int_t)slots->least, "sums_right", (int)slots->sums_right, "stores",
                     (json_int_t)slots->stores, "most_apart_bytes",
                     (json_int_t)slots->most_apart_bytes);
}

/* ---- the run --------------------------------------------------------------------------- */

static int compare(struct numalab_worker *worker, const struct numalab_expected *expected,
                   struct numalab_results *results)
{
    if (numalab_results_check_before(worker, results) < 0) return -1;
    for (size_t array = 0; array < worker->array_count; array++)
        if (numalab_results_compare_array(worker, expected, array, results) < 0) return -1;
    return 0;
}

/* The kernel in a worker that stands still or runs, with other teams than it has had. */
static int look_at_teams(struct numalab_worker *worker, const struct numalab_run_options *options,
                         struct numalab_oracle *oracle, struct numalab_store_notes *notes,
                         struct seen *seen)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase, 2};
    for (; seen->teams < TEAMS; seen->teams++) {
        const size_t threads = teams[seen->teams];
        const size_t n = worker->n; /* what a request brings */
        const int failed = numalab_worker_set_team(worker, threads);
        worker->n = n;
        if (failed || numalab_mapping_run(worker, driver->compute_phase) < 0) return -1;
        driver->advance(oracle, driver->compute_phase);
        if (numalab_mapping_run(worker, driver->counting->slots_phase) < 0 ||
            numalab_worker_stop(worker) < 0 ||
            look_at_slots(worker, options, oracle, threads, notes, &seen->of_team[seen->teams]) <
                0 ||
            compare(worker, &expected, &seen->results) < 0 || numalab_worker_continue(worker) < 0)
            return -1;
    }
    return 0;
}

static json_t *describe_teams(const struct seen *seen)
{
    json_t *list = json_array();
    for (size_t i = 0; i < seen->teams; i++)
        json_array_append_new(list, json_pack("{sI so}", "threads", (json_int_t)teams[i], "slots",
                                              describe_slots(&seen->of_team[i])));
    return list;
}

/* One compute phase behind one that warms up: threads, and the kernel's own memory, are there. */
static int look(struct numalab_worker *worker, const struct numalab_run_options *options,
                struct numalab_oracle *oracle, size_t threads, struct numalab_store_notes *notes,
                struct seen *seen)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase, 1};
    uint64_t notes_at = 0;
    if (numalab_results_prepare(worker) < 0 ||
        numalab_mapping_run(worker, driver->initialize_phase) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    if (numalab_mapping_run(worker, driver->compute_phase) < 0) return -1;
    driver->advance(oracle, driver->compute_phase);
    if (begin(worker, options->node->line_bytes, &notes_at) < 0 ||
        numalab_mapping_run(worker, driver->compute_phase) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    if (take(worker, notes_at, notes, seen) < 0 ||
        numalab_mapping_run(worker, driver->counting->slots_phase) < 0 ||
        numalab_worker_stop(worker) < 0 ||
        look_at_slots(worker, options, oracle, threads, notes, &seen->slots) < 0 ||
        compare(worker, &expected, &seen->results) < 0)
        return -1;
    return numalab_worker_continue(worker);
}

/* Has two threads of the kit's own share a line in the worker. Returns 1 where that is noted, 0
 * where it is not: then noting has been switched off; -1 with the outcome set. */
static int finds_shared(struct numalab_worker *worker, size_t line_bytes,
                        struct numalab_store_notes *notes)
{
    struct numalab_message reply;
    struct seen seen = {0};
    uint64_t notes_at = 0;
    int found = -1;
    if (begin(worker, line_bytes, &notes_at) == 0 &&
        numalab_worker_ask(worker, NUMALAB_RACE, &reply, NULL) == 0 &&
        take(worker, notes_at, notes, &seen) == 0)
        found = reply.error == 0 && seen.shared_stores == NUMALAB_OWN_STORES;
    return found;
}

/* *shared_share: stores per element that meet a line which another thread writes more. */
static json_t *run_program(const struct numalab_run_options *options, const char *program,
                           double *shared_share)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_random random = {.seed = options->sampling.seed};
    limits.tells_stores = true;
    if (limits.thread_count < LEAST_TEAM) limits.thread_count = LEAST_TEAM;
    const size_t team = limits.thread_count;
    const size_t n =
        team * least_each + (size_t)(numalab_random_next(&random) % (team * more_each));
    struct numalab_oracle *oracle = driver->create(n);
    struct numalab_store_notes *notes = calloc(1, sizeof *notes);
    struct seen seen = {0};
    json_t *lines = NULL, *by_thread = NULL;
    struct numalab_worker worker = numalab_no_worker;
    int noted = -1;

    if (!oracle || !notes)
        numalab_worker_kit_error(&worker, "note stores", -ENOMEM);
    else if (numalab_worker_start(&worker, program, &limits, options->cancel_fd) == 0 &&
             numalab_worker_set_team(&worker, team) == 0 &&
             numalab_worker_allocate(&worker, n, driver, NUMALAB_ANONYMOUS) == 0 &&
             look(&worker, options, oracle, team, notes, &seen) == 0) {
        const bool is_done = look_at_teams(&worker, options, oracle, notes, &seen) == 0;
        lines = describe_lines(&seen, notes);
        by_thread = describe_threads(&seen, notes);
        if (is_done) noted = finds_shared(&worker, options->node->line_bytes, notes);
    }
    numalab_worker_end(&worker);
    free(notes);
    if (oracle) driver->destroy(oracle);
    *shared_share = (double)seen.shared_stores / (double)n;
    return json_pack(
        "{sI sI sI sI sI sI sI sI so so so so so so so}", "n", (json_int_t)n, "threads",
        (json_int_t)team, "line_bytes", (json_int_t)options->node->line_bytes, "lines",
        (json_int_t)seen.lines, "stores", (json_int_t)seen.stores, "lost", (json_int_t)seen.lost,
        "shared_lines", (json_int_t)seen.shared_lines, "shared_stores",
        (json_int_t)seen.shared_stores, "most_written", lines ? lines : json_array(), "by_thread",
        by_thread ? by_thread : json_array(), "slots", describe_slots(&seen.slots), "teams",
        describe_teams(&seen), "noted", noted < 0 ? json_null() : json_boolean(noted), "results",
        numalab_record_results(&seen.results, driver), "outcome",
        numalab_record_outcome(&worker, driver));
}

enum { MOST_PATH_BYTES = 4096 };

static bool is_ok(const json_t *run)
{
    const char *status =
        json_string_value(json_object_get(json_object_get(run, "outcome"), "status"));
    return status && strcmp(status, "ok") == 0;
}

/* A record of two programs that differ in where the kernel's memory lies: that of the one in which
 * more stores meet a line that is shared, or that did not come to its end. */
json_t *numalab_run_stores(const struct numalab_run_options *options)
{
    char shifted[MOST_PATH_BYTES];
    double share, share_shifted;
    const int length = snprintf(shifted, sizeof shifted, "%s-shifted", options->role[0].program);
    json_t *seen = run_program(options, options->role[0].program, &share);
    if (length < 0 || (size_t)length >= sizeof shifted || !is_ok(seen)) return seen;
    json_t *seen_shifted = run_program(options, shifted, &share_shifted);
    const bool is_worse = !is_ok(seen_shifted) || share_shifted > share;
    json_decref(is_worse ? seen : seen_shifted);
    return is_worse ? seen_shifted : seen;
}
