#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/mapping.h"
#include "monitor/random.h"
#include "monitor/record.h"
#include "monitor/results.h"
#include "runs.h"
#include "slots.h"
#include "stores.h"

/* For each thread so many elements that what it writes once, as its sums in the end, counts for
 * nothing beside what it writes for each; more by chance, since a kernel may ask for n. And no
 * more: on a busy node threads that wait for one another at each element take a time slice for
 * each. */
static const size_t least_each = 5000, more_each = 2500;

/* Threads of the team at least, as of races: two may come one after another. */
enum { LEAST_TEAM = 4 };

/* Lines that are told of one by one, those that are written most; and of each so many threads. */
enum { MAX_LISTED_LINES = 16, MAX_LISTED_WRITERS = 32 };

/* Other teams with which the kernel is called: first one that is larger than it is likely to have
 * counted on, and than the node has PUs, then one of a number that is no power of two, and of one
 * thread. */
enum { LARGE_TEAM = 9, TEAMS = 3 };

/* What is seen of one line. */
struct line {
    uint64_t line, stores, most; /* most: by one thread */
    size_t first_note, writers;  /* of the notes, when they are sorted */
};

/* How the kernel did with another team. */
struct team_observation {
    size_t threads;
    struct numalab_slots slots;
    struct numalab_overrun overrun;
};

/* What is seen of one copy of the kernel (worker/kernel_copy.h). */
struct copy_observation {
    struct numalab_results results;
    uint64_t stores, lines, lost;
    uint64_t shared_lines, shared_stores; /* of lines with several writers: those of all but the
                                             thread that writes it most */
    struct numalab_slots slots;
    uint64_t slot_stores; /* to lines with any of their counters */
    struct numalab_overrun overrun;
    struct line most_written[MAX_LISTED_LINES]; /* the one written most comes first */
    uint64_t stores_of[NUMALAB_NOTED_THREADS];  /* by thread - 1 */
    json_t *described_lines, *described_threads, *outcome;
    int noted; /* whether stores of the kit's own were; -1: it did not come to that */
    bool is_ok;
};

/* ... of other teams. */
struct team_observations {
    struct team_observation team[TEAMS];
    size_t count; /* of those that it was called with */
    struct numalab_results results;
    json_t *outcome; /* NULL: as of the run */
};

static int compare_lines(const void *first, const void *second)
{
    const struct numalab_store_note *a = first, *b = second;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return (a->thread > b->thread) - (a->thread < b->thread);
}

static void keep_most_written(struct copy_observation *observation, struct line line)
{
    for (size_t i = 0; i < MAX_LISTED_LINES; i++)
        if (line.stores > observation->most_written[i].stores) {
            const struct line less = observation->most_written[i];
            observation->most_written[i] = line;
            line = less;
        }
}

static void add_line(struct copy_observation *observation, const struct line *line)
{
    if (line->writers == 0) return;
    observation->lines++;
    observation->stores += line->stores;
    keep_most_written(observation, *line);
    if (line->writers < 2) return;
    observation->shared_lines++;
    observation->shared_stores += line->stores - line->most;
}

/* Sorts the notes. */
static void sum_up(struct numalab_store_notes *notes, struct copy_observation *observation)
{
    struct line line = {0};
    qsort(notes->note, NUMALAB_STORE_NOTES, sizeof notes->note[0], compare_lines);
    observation->lost = notes->lost;
    for (size_t i = 0; i < NUMALAB_STORE_NOTES; i++) {
        const struct numalab_store_note *note = &notes->note[i];
        if (note->line == 0) continue;
        if (note->line != line.line) {
            add_line(observation, &line);
            line = (struct line){.line = note->line, .first_note = i};
        }
        line.writers++;
        line.stores += note->stores;
        if (note->thread <= NUMALAB_NOTED_THREADS)
            observation->stores_of[note->thread - 1] += note->stores;
        if (note->stores > line.most) line.most = note->stores;
    }
    add_line(observation, &line);
}

/* What each thread that is noted has loaded of the first array, and stored. */
static json_t *describe_threads(const struct copy_observation *observation,
                                const struct numalab_store_notes *notes)
{
    json_t *list = json_array();
    for (size_t i = 0; i < NUMALAB_NOTED_THREADS; i++)
        if (notes->loaded_bytes[i] || observation->stores_of[i])
            json_array_append_new(list, json_pack("[II]", (json_int_t)notes->loaded_bytes[i],
                                                  (json_int_t)observation->stores_of[i]));
    return list;
}

static int compare_addresses(const void *first, const void *second)
{
    const struct line *a = first, *b = second;
    return (a->line > b->line) - (a->line < b->line);
}

/* Who writes the lines that are written most, in the order of their addresses; numbered from the
 * first of them, so that no address is on record. */
static json_t *describe_lines(struct copy_observation *observation,
                              const struct numalab_store_notes *notes)
{
    json_t *list = json_array();
    size_t count = 0;
    while (count < MAX_LISTED_LINES && observation->most_written[count].writers) count++;
    qsort(observation->most_written, count, sizeof observation->most_written[0], compare_addresses);
    for (size_t i = 0; i < count; i++) {
        const struct line *line = &observation->most_written[i];
        json_t *writers = json_array();
        for (size_t k = 0; k < line->writers && k < MAX_LISTED_WRITERS; k++) {
            const struct numalab_store_note *note = &notes->note[line->first_note + k];
            json_array_append_new(
                writers, json_pack("[II]", (json_int_t)note->thread, (json_int_t)note->stores));
        }
        json_array_append_new(
            list, json_pack("{sI sI so}", "line",
                            (json_int_t)(line->line - observation->most_written[0].line), "stores",
                            (json_int_t)line->stores, "by_thread", writers));
    }
    return list;
}

/* Has what runs next noted afresh; *notes_at: where. */
static int begin(struct numalab_worker *worker, size_t line_bytes, uint64_t *notes_at)
{
    struct numalab_message reply;
    const size_t n = worker->n;
    worker->n = line_bytes; /* what a request brings */
    const int failed = numalab_worker_request(worker, NUMALAB_NOTE_STORES, &reply, NULL);
    worker->n = n;
    if (failed) return -1;
    if (reply.error < 0) return numalab_worker_fail_obstructed(worker, "note stores", reply.error);
    *notes_at = reply.store_notes;
    return 0;
}

static int take(struct numalab_worker *worker, uint64_t notes_at, struct numalab_store_notes *notes,
                struct copy_observation *observation)
{
    if (numalab_worker_read_or_fail(worker, notes_at, notes, sizeof *notes) < 0) return -1;
    sum_up(notes, observation);
    return 0;
}

/* Slots and notes are sorted. Lines are counted once, however many slots share one. */
static uint64_t stores_to(const struct numalab_slots *slots, size_t bytes,
                          const struct numalab_store_notes *notes, size_t line_bytes)
{
    uint64_t stores = 0;
    size_t at = 0;
    for (size_t i = 0; i < NUMALAB_STORE_NOTES; i++) {
        if (notes->note[i].line == 0) continue;
        const uint64_t line = notes->note[i].line - 1;
        while (at < slots->kept && (slots->slot[at].first + bytes - 1) / line_bytes < line) at++;
        if (at < slots->kept && slots->slot[at].first / line_bytes <= line)
            stores += notes->note[i].stores;
    }
    return stores;
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

/* Has the kernel count, and looks at its slots and the results. */
static int count(struct numalab_worker *worker, const struct numalab_run_options *options,
                 struct numalab_oracle *oracle, size_t threads, struct numalab_slots *slots,
                 struct numalab_results *results)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase, 1};
    if (numalab_slots_read(worker, driver, oracle, threads, options->node->line_bytes, slots) < 0 ||
        numalab_worker_stop(worker) < 0 || compare(worker, &expected, results) < 0)
        return -1;
    return numalab_worker_continue(worker);
}

/* How many threads the kernel's regions have from now on; n stays. */
static int set_team(struct numalab_worker *worker, size_t threads)
{
    const size_t n = worker->n; /* what a request brings */
    const int failed = numalab_worker_set_team(worker, threads);
    worker->n = n;
    return failed;
}

static size_t large_team(const struct numalab_run_options *options)
{
    const int pus = hwloc_get_nbobjs_by_type(options->node->topology, HWLOC_OBJ_PU);
    return pus >= LARGE_TEAM ? (size_t)pus + 1 : LARGE_TEAM;
}

/* The kernel with other teams, the largest first, so that what it allocates by the largest team
 * that it is told of has room for all. Ends at one that writes beside its memory. */
static int observe_teams(struct numalab_worker *worker, const struct numalab_run_options *options,
                         struct numalab_oracle *oracle, struct team_observations *observation)
{
    const struct numalab_driver *driver = options->driver;
    const size_t threads[TEAMS] = {large_team(options), 3, 1};
    while (observation->count < TEAMS) {
        struct team_observation *team = &observation->team[observation->count];
        team->threads = threads[observation->count++];
        if (set_team(worker, team->threads) < 0 ||
            numalab_mapping_run(worker, driver->compute_phase) < 0)
            return -1;
        driver->advance(oracle, driver->compute_phase);
        team->overrun = worker->overrun;
        if (team->overrun.kind ||
            count(worker, options, oracle, team->threads, &team->slots, &observation->results) < 0)
            return -1;
    }
    return 0;
}

/* One compute phase behind one that warms up: threads, and the kernel's own memory, are there. */
static int observe(struct numalab_worker *worker, const struct numalab_run_options *options,
                   struct numalab_oracle *oracle, size_t threads, struct numalab_store_notes *notes,
                   struct copy_observation *observation)
{
    const struct numalab_driver *driver = options->driver;
    const size_t line_bytes = options->node->line_bytes;
    uint64_t notes_at = 0;
    if (set_team(worker, threads) < 0 || numalab_mapping_run(worker, driver->compute_phase) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    if (begin(worker, line_bytes, &notes_at) < 0 ||
        numalab_mapping_run(worker, driver->compute_phase) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    observation->overrun = worker->overrun;
    if (take(worker, notes_at, notes, observation) < 0) return -1;
    observation->described_lines = describe_lines(observation, notes);
    observation->described_threads = describe_threads(observation, notes);
    if (count(worker, options, oracle, threads, &observation->slots, &observation->results) < 0)
        return -1;
    const size_t bytes = driver->counting->length * sizeof(int64_t);
    observation->slot_stores = stores_to(&observation->slots, bytes, notes, line_bytes);
    return 0;
}

/* Has two threads of the kit's own share a line in the worker. Returns 1 where that is noted, 0
 * where it is not: then noting has been switched off; -1 with the outcome set. */
static int finds_shared(struct numalab_worker *worker, size_t line_bytes,
                        struct numalab_store_notes *notes)
{
    struct numalab_message reply;
    struct copy_observation observation = {0};
    uint64_t notes_at = 0;
    int found = -1;
    if (begin(worker, line_bytes, &notes_at) == 0 &&
        numalab_worker_request(worker, NUMALAB_RACE, &reply, NULL) == 0 &&
        take(worker, notes_at, notes, &observation) == 0)
        found = reply.error == 0 && observation.shared_stores == NUMALAB_OWN_STORES;
    return found;
}

static int prepare(struct numalab_worker *worker, const struct numalab_run_options *options,
                   struct numalab_oracle *oracle)
{
    if (numalab_results_prepare(worker) < 0 ||
        numalab_mapping_run(worker, options->driver->initialize_phase) < 0)
        return -1;
    options->driver->advance(oracle, options->driver->initialize_phase);
    return 0;
}

/* What it has written beside its memory, where it has ended before it could be asked. */
static struct numalab_overrun last_overrun(const struct numalab_worker *worker,
                                           struct numalab_overrun so_far)
{
    return so_far.kind || !worker->has_crash_report ? so_far : worker->crash_report.overrun;
}

/* A copy of the kernel in a process of its own. teams: what other teams do before all else, or
 * NULL; where one of them brings it to a bad end, nothing is seen of the rest. */
static void run_copy(const struct numalab_run_options *options, size_t n, size_t team,
                     bool is_shifted, struct team_observations *teams,
                     struct copy_observation *observation)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    limits.notes_stores = true;
    struct numalab_oracle *oracle = driver->create(n);
    struct numalab_store_notes *notes = calloc(1, sizeof *notes);
    struct numalab_worker worker = numalab_no_worker;
    bool is_at_teams = false;
    limits.thread_count = team > large_team(options) ? team : large_team(options);
    limits.modes = is_shifted ? NUMALAB_SHIFTED : 0;
    *observation = (struct copy_observation){.noted = -1};
    if (!oracle || !notes)
        numalab_worker_kit_error(&worker, "note stores", -ENOMEM);
    else if (numalab_worker_start(&worker, options->role[0].program, &limits, options->cancel_fd) ==
                 0 &&
             numalab_worker_set_team(&worker, limits.thread_count) == 0 &&
             numalab_worker_allocate(&worker, n, driver, NUMALAB_ANONYMOUS) == 0 &&
             prepare(&worker, options, oracle) == 0) {
        is_at_teams = teams && observe_teams(&worker, options, oracle, teams) < 0;
        if (!is_at_teams && observe(&worker, options, oracle, team, notes, observation) == 0)
            observation->noted = finds_shared(&worker, options->node->line_bytes, notes);
    }
    numalab_worker_end(&worker);
    if (is_at_teams) {
        struct team_observation *last = &teams->team[teams->count - 1];
        last->overrun = last_overrun(&worker, last->overrun);
        teams->outcome = numalab_record_outcome(&worker, driver);
    } else {
        observation->overrun = last_overrun(&worker, observation->overrun);
        observation->outcome = numalab_record_outcome(&worker, driver);
        observation->is_ok = worker.outcome.kind == NUMALAB_OK;
    }
    free(notes);
    if (oracle) driver->destroy(oracle);
}

static void drop(struct copy_observation *observation)
{
    numalab_slots_free(&observation->slots);
    json_decref(observation->described_lines);
    json_decref(observation->described_threads);
    json_decref(observation->outcome);
}

static json_t *describe_overrun(const struct numalab_overrun *overrun)
{
    if (overrun->kind == NUMALAB_NO_OVERRUN) return json_null();
    if (overrun->kind == NUMALAB_VARIABLES_OVERRUN) return json_pack("{ss}", "of", "variables");
    return json_pack("{ss sI}", "of", "allocated", "bytes", (json_int_t)overrun->bytes);
}

static json_t *describe_teams(const struct team_observations *observation)
{
    json_t *list = json_array();
    for (size_t i = 0; i < observation->count; i++) {
        const struct team_observation *team = &observation->team[i];
        json_array_append_new(list, json_pack("{sI so so}", "threads", (json_int_t)team->threads,
                                              "slots", numalab_slots_describe(&team->slots),
                                              "overrun", describe_overrun(&team->overrun)));
    }
    return list;
}

/* Of two copies that differ in where the kernel's memory lies: the one in which more stores meet a
 * line that is shared, or that did not come to its end. Other teams come first in the second one,
 * which is begun afresh without them where they bring it to a bad end. */
json_t *numalab_run_stores(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_random random = {.seed = options->sampling.seed};
    const size_t team = options->thread_count < LEAST_TEAM ? LEAST_TEAM : options->thread_count;
    const size_t n =
        team * least_each + (size_t)(numalab_random_next(&random) % (team * more_each));
    struct copy_observation first, second = {0};
    struct team_observations teams = {.count = 0};
    run_copy(options, n, team, false, NULL, &first);
    if (first.is_ok) {
        run_copy(options, n, team, true, &teams, &second);
        if (teams.outcome) run_copy(options, n, team, true, NULL, &second);
    }
    const bool is_second_worse =
        first.is_ok && (!second.is_ok || second.shared_stores > first.shared_stores);
    struct copy_observation *observation = is_second_worse ? &second : &first;
    json_t *slots = numalab_slots_describe(&observation->slots);
    json_object_set_new(slots, "stores", json_integer((json_int_t)observation->slot_stores));
    json_t *record = json_pack(
        "{sI sI sI sI sI sI sI sI sO* sO* so so so so so so}", "n", (json_int_t)n, "threads",
        (json_int_t)team, "line_bytes", (json_int_t)options->node->line_bytes, "lines",
        (json_int_t)observation->lines, "stores", (json_int_t)observation->stores, "lost",
        (json_int_t)observation->lost, "shared_lines", (json_int_t)observation->shared_lines,
        "shared_stores", (json_int_t)observation->shared_stores, "most_written",
        observation->described_lines, "by_thread", observation->described_threads, "slots", slots,
        "overrun", describe_overrun(&observation->overrun), "teams", describe_teams(&teams),
        "noted", observation->noted < 0 ? json_null() : json_boolean(observation->noted), "results",
        numalab_record_results(&observation->results, driver), "outcome",
        json_incref(observation->outcome));
    if (!observation->described_lines) json_object_set_new(record, "most_written", json_array());
    if (!observation->described_threads) json_object_set_new(record, "by_thread", json_array());
    if (teams.outcome) json_object_set_new(record, "teams_outcome", teams.outcome);
    if (teams.results.mismatches)
        json_object_set_new(record, "teams_results",
                            numalab_record_results(&teams.results, driver));
    for (size_t i = 0; i < teams.count; i++) numalab_slots_free(&teams.team[i].slots);
    drop(&first);
    drop(&second);
    return record;
}
