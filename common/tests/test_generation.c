/* How often each role of a generation is repeated, and that wrong results are found. */
#define _GNU_SOURCE
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/processes/heartbeat.h"
#include "monitor/results.h"
#include "monitor/runs/runs.h"
#include "numalab/changed.h"

static int failures;

/* ---- a driver whose oracle knows every element ---------------------------------- */

enum { N = 100000 };

struct changed_element {
    size_t element;
    double value;
};

struct numalab_oracle {
    double computes;
    struct numalab_changed changed; /* of struct changed_element */
};

static const struct numalab_array arrays[] = {{"x", sizeof(double)}};

static struct numalab_oracle *create(size_t n)
{
    (void)n;
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (oracle) oracle->changed.entry_bytes = sizeof(struct changed_element);
    return oracle;
}

static void destroy(struct numalab_oracle *oracle)
{
    numalab_changed_free(&oracle->changed);
    free(oracle);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    struct changed_element *changed = oracle->changed.entries;
    if (strcmp(phase, "initialize_as_told") == 0) {
        oracle->computes = 0.0;
        numalab_changed_clear(&oracle->changed);
        return;
    }
    oracle->computes += 1.0;
    for (size_t i = 0; i < oracle->changed.count; i++) changed[i].value += 1.0;
}

static size_t changes_drawn;

static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    changes_drawn++;
    const struct changed_element fresh = {.element = (size_t)(random_position % N)};
    struct changed_element *entry = numalab_changed_add(&oracle->changed, &fresh);
    if (!entry) return -1;
    entry->value = (double)(random_value % 1000);
    change->array = 0;
    change->element = entry->element;
    memcpy(change->value, &entry->value, sizeof entry->value);
    return 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++) {
        const struct changed_element *changed = numalab_changed_find(&oracle->changed, first + i);
        const double expected = changed ? changed->value : (double)(first + i) + oracle->computes;
        const double value = ((const double *)actual)[i];
        if (!(value == expected) && mismatches++ == 0)
            *mismatch = (struct numalab_mismatch){array, first + i, expected, value, "", ""};
    }
    return mismatches;
}

static size_t bytes_moved(size_t n)
{
    return n * sizeof(double);
}

static const struct numalab_driver driver = {
    .lab = "tests",
    .arrays = arrays,
    .array_count = 1,
    .initialize_phase = "initialize_as_told",
    .compute_phase = "compute_as_told",
    .timed_n = {N, N, N},
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

/* ---- generations of it ---------------------------------------------------------- */

static const struct numalab_node node = {.memory_bytes = (uint64_t)1 << 40};

/* Three roles, of which the submission alone is told something. */
static struct numalab_run_options options_with(const char *name, const char *value)
{
    static const char *const names[] = {"handout", "solution", "submission"};
    struct numalab_run_options options = {
        .driver = &driver,
        .node = &node,
        .thread_count = 1,
        .size = NUMALAB_QUICK,
        .rounds = {.least = 2, .most = 4, .share = 1.0, .budget_s = 600.0},
        .limits = {.phase_s = 30.0,
                   .memory_bytes = (uint64_t)64 << 20,
                   .output_bytes = 1 << 20,
                   .thread_count = 1},
        .cancel_fd = -1,
    };
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        options.role[options.role_count++] =
            (struct numalab_role){.name = names[i], .program = MISBEHAVING_WORKER, .rank_count = 1};
    if (name) numalab_variables_set(&options.role[2].variables, name, value);
    return options;
}

/* How many timed repetitions a role has; they are numbered in order, behind one to warm up. */
static size_t repetitions_of(const json_t *record, const char *role)
{
    size_t i, next = 0;
    const json_t *sample;
    json_array_foreach(json_object_get(record, "samples"), i, sample)
    {
        if (strcmp(json_string_value(json_object_get(sample, "role")), role) != 0) continue;
        EXPECT(json_integer_value(json_object_get(sample, "repetition")) == (json_int_t)next);
        EXPECT(json_is_true(json_object_get(sample, "warm_up")) == (next == 0));
        next++;
    }
    return next > 0 ? next - 1 : 0;
}

/* Of all roles, which have as many; 0 and a failure where they have not. */
static size_t repetitions(const struct numalab_run_options *options)
{
    json_t *record = numalab_run_generation(options);
    size_t i, of_first = repetitions_of(record, options->role[0].name);
    const json_t *role;
    json_array_foreach(json_object_get(record, "roles"), i, role)
    {
        const json_t *outcome = json_object_get(role, "outcome");
        const json_t *results = json_object_get(role, "results");
        EXPECT(strcmp(json_string_value(json_object_get(outcome, "status")), "ok") == 0);
        EXPECT(json_integer_value(json_object_get(results, "mismatches")) == 0);
        if (repetitions_of(record, options->role[i].name) != of_first) {
            EXPECT(!"as many repetitions of each role");
            of_first = 0;
            break;
        }
    }
    json_decref(record);
    return of_first;
}

static void test_repetitions(void)
{
    struct numalab_run_options options = options_with("COMPUTE_MS", "20");
    const size_t count = repetitions(&options);
    EXPECT(count >= options.rounds.least && count <= options.rounds.most);

    /* Who is slow to start brings more of them to all. */
    options = options_with("INITIALIZE_MS", "1500");
    EXPECT(repetitions(&options) == options.rounds.most);

    /* Nothing is left to spend: one of each. Inputs are new before it, for each role others,
     * and not before what warms up. */
    options = options_with("COMPUTE_MS", "20");
    options.rounds.budget_s = 0.0;
    changes_drawn = 0;
    EXPECT(repetitions(&options) == 1);
    EXPECT(changes_drawn == options.role_count * NUMALAB_LEAST_CHANGES);

    /* Without common rounds the least of each, whatever they take. */
    options.is_sequential = true;
    EXPECT(repetitions(&options) == options.rounds.least);
    options = options_with("INITIALIZE_MS", "100");
    options.is_sequential = true;
    EXPECT(repetitions(&options) == options.rounds.least);
}

/* Elements of a role: those that were looked at, or those found wrong. */
static json_int_t count_of(const json_t *record, size_t role, const char *what)
{
    const json_t *entry = json_array_get(json_object_get(record, "roles"), role);
    return json_integer_value(json_object_get(json_object_get(entry, "results"), what));
}

static void test_results(void)
{
    /* Every element of the kit's own kernels is not compared in the end; some are, each time. */
    struct numalab_run_options mixed = options_with(NULL, NULL);
    mixed.role[0].is_reference = true;
    mixed.rounds = (struct numalab_round_limits){.least = 1, .most = 1, .budget_s = 600.0};
    json_t *both = numalab_run_generation(&mixed);
    EXPECT(count_of(both, 0, "checked") > 0 && count_of(both, 0, "checked") < N);
    EXPECT(count_of(both, 1, "checked") >= N);
    json_decref(both);

    /* One element of many: all are looked at in the end. */
    for (int is_sequential = 0; is_sequential < 2; is_sequential++) {
        struct numalab_run_options options = options_with("LEFT_OUT", "54321");
        options.is_sequential = is_sequential;
        json_t *record = numalab_run_generation(&options);
        EXPECT(count_of(record, 0, "mismatches") == 0);
        EXPECT(count_of(record, 1, "mismatches") == 0);
        EXPECT(count_of(record, 2, "mismatches") >= 1);
        json_decref(record);
    }
}

/* Who works while others are timed, or has a process that may, is found out, however it hides. */
static void test_disturbances(void)
{
    static const struct {
        const char *how, *disturbance;
    } ways[] = {{"wakes", "ran_while_stopped"},
                {"child", "started_process"},
                {"orphan", "started_process"}};
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        struct numalab_run_options options = options_with("DISTURBS", ways[i].how);
        for (size_t role = 0; role < options.role_count; role++) {
            options.role[role].is_reference = role != 2;
            numalab_variables_set(&options.role[role].variables, "COMPUTE_MS", "40");
        }
        json_t *record = numalab_run_generation(&options);
        const json_t *outcome =
            json_object_get(json_array_get(json_object_get(record, "roles"), 2), "outcome");
        EXPECT(strcmp(json_string_value(json_object_get(outcome, "status")), "bad_protocol") == 0);
        const char *disturbance = json_string_value(json_object_get(outcome, "disturbance"));
        EXPECT(disturbance && strcmp(disturbance, ways[i].disturbance) == 0);
        json_decref(record);
        while (waitpid(-1, NULL, 0) > 0) continue; /* an orphan ends with its worker */
    }
}

/* What a kernel sees of its next inputs, it sees while its time runs. */
static void test_clock_runs_first(void)
{
    enum { MOST = 30 };
    char path[] = "/tmp/numalab-seen-XXXXXX";
    const int file = mkstemp(path);
    struct numalab_run_options options = options_with("SEEN", path);
    options.rounds = (struct numalab_round_limits){.least = MOST, .most = MOST, .budget_s = 600.0};
    options.limits.thread_count = 2;
    numalab_variables_set(&options.role[2].variables, "COMPUTE_MS", "2");
    const double before_s = numalab_now_s();
    json_t *record = numalab_run_generation(&options);
    EXPECT(
        strcmp(json_string_value(json_object_get(
                   json_object_get(json_array_get(json_object_get(record, "roles"), 2), "outcome"),
                   "status")),
               "ok") == 0);
    double seen[2], started_s[MOST + 1] = {0};
    size_t i, count = 0;
    const json_t *sample;
    json_array_foreach(json_object_get(record, "samples"), i, sample)
    {
        if (strcmp(json_string_value(json_object_get(sample, "role")), "submission") == 0)
            started_s[json_integer_value(json_object_get(sample, "repetition"))] =
                json_real_value(json_object_get(sample, "started_s"));
    }
    for (; read(file, seen, sizeof seen) == (ssize_t)sizeof seen; count++) {
        EXPECT(seen[0] >= 0.0 && seen[0] <= MOST);
        /* Starts count from a moment behind before_s. */
        EXPECT(seen[1] - before_s >= started_s[(size_t)seen[0]]);
    }
    EXPECT(count > MOST / 4);
    json_decref(record);
    close(file);
    unlink(path);
}

/* How many of a role's repetitions were spoilt by a pause, or were not. */
static json_int_t count_samples(const json_t *record, const char *role, bool is_paused)
{
    size_t i;
    json_int_t count = 0;
    const json_t *sample;
    json_array_foreach(json_object_get(record, "samples"), i, sample)
    {
        if (strcmp(json_string_value(json_object_get(sample, "role")), role) != 0) continue;
        count += json_is_true(json_object_get(sample, "paused")) == is_paused;
    }
    return count;
}

/* A round in which the node paused is done again, a few times. Of two the test is the cause; a busy
 * machine may add some, or hide one: what a process waits for a core is no pause. */
static void test_pauses(void)
{
    for (int is_sequential = 0; is_sequential < 2; is_sequential++) {
        struct numalab_run_options options = options_with("STOPS_MONITOR", "2");
        options.limits.heartbeat = numalab_heartbeat_start();
        options.is_sequential = is_sequential;
        options.rounds.most = options.rounds.least;
        json_t *record = numalab_run_generation(&options);
        const json_int_t spoilt = json_integer_value(json_object_get(record, "paused_rounds"));
        EXPECT(spoilt >= 1);
        EXPECT(json_is_false(json_object_get(record, "held_up")));
        const json_int_t of_submission = count_samples(record, "submission", true);
        EXPECT(of_submission >= 1);
        EXPECT(repetitions_of(record, "submission") ==
               options.rounds.least + (size_t)of_submission);
        json_int_t paused = 0;
        for (size_t i = 0; i < options.role_count; i++) {
            const char *role = options.role[i].name;
            paused += count_samples(record, role, true);
            /* One of them to warm up. */
            EXPECT(count_samples(record, role, false) == (json_int_t)options.rounds.least + 1);
        }
        EXPECT(paused == (is_sequential ? spoilt : spoilt * (json_int_t)options.role_count));
        json_decref(record);

        numalab_variables_set(&options.role[2].variables, "STOPS_MONITOR", "9");
        record = numalab_run_generation(&options);
        EXPECT(json_is_true(json_object_get(record, "held_up")));
        json_decref(record);
        numalab_heartbeat_stop(options.limits.heartbeat);
    }
}

/* Three roles, and one beside them that may fail. */
static struct numalab_run_options make_options(const char *name, const char *value)
{
    struct numalab_run_options options = options_with(NULL, NULL);
    struct numalab_role *probe = &options.role[options.role_count++];
    *probe = (struct numalab_role){.name = "probe",
                                   .program = MISBEHAVING_WORKER,
                                   .rank_count = 1,
                                   .is_reference = true,
                                   .may_fail = true};
    numalab_variables_set(&probe->variables, name, value);
    return options;
}

static const char *status_of(const json_t *record, size_t role)
{
    const json_t *entry = json_array_get(json_object_get(record, "roles"), role);
    return json_string_value(json_object_get(json_object_get(entry, "outcome"), "status"));
}

/* Where it fails the others go on, whenever that is; and what it takes is not counted. */
static void test_optional_role(void)
{
    enum { PROBE = 3 };
    static const struct {
        const char *position;
        size_t repetitions; /* before that */
    } ends[] = {{"0", 0}, {"2", 1}};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        for (int is_sequential = 0; is_sequential < 2; is_sequential++) {
            struct numalab_run_options options = make_options("EXITS_AT", ends[i].position);
            options.is_sequential = is_sequential;
            json_t *record = numalab_run_generation(&options);
            for (size_t role = 0; role < PROBE; role++) {
                EXPECT(strcmp(status_of(record, role), "ok") == 0);
                EXPECT(count_of(record, role, "checked") >= N);
                EXPECT(count_of(record, role, "mismatches") == 0);
                EXPECT(repetitions_of(record, options.role[role].name) >= options.rounds.least);
            }
            EXPECT(strcmp(status_of(record, PROBE), "exited") == 0);
            EXPECT(repetitions_of(record, "probe") == ends[i].repetitions);
            json_decref(record);
        }
    }

    struct numalab_run_options options = make_options("EXITS_AT", "0");
    options.role[PROBE].may_fail = false;
    json_t *record = numalab_run_generation(&options);
    EXPECT(repetitions_of(record, "submission") == 0);
    json_decref(record);

    /* Ten times as long as a round of the others: as many rounds would be due. */
    options = make_options("INITIALIZE_MS", "3000");
    numalab_variables_set(&options.role[2].variables, "COMPUTE_MS", "300");
    options.rounds.most = 30;
    EXPECT(repetitions(&options) < 8);
}

int main(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    test_repetitions();
    test_results();
    test_disturbances();
    test_clock_runs_first();
    test_pauses();
    test_optional_role();
    return failures > 0;
}
