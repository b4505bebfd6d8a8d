/* Series that are drawn, and stops that are made: what the monitor asks, and what it notes. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "expect.h"
#include "monitor/runs/runs.h"

static int failures;

enum { QUESTION, FIRST, SECOND };
enum { KINDS = 3, SERIES_PER_KIND = 5, SERIES = KINDS * SERIES_PER_KIND };

static const struct numalab_node node = {.memory_bytes = (uint64_t)1 << 40};

struct numalab_oracle {
    int64_t question[3];
};

static const struct numalab_array arrays[] = {
    {"asked", sizeof(int64_t)}, {"first", sizeof(int64_t)}, {"second", sizeof(int64_t)}};

static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static size_t count(size_t n, size_t array, size_t rank, size_t ranks)
{
    (void)n;
    (void)rank;
    (void)ranks;
    return array == QUESTION ? 3 : 1;
}

static struct numalab_oracle *create(size_t n)
{
    (void)n;
    return calloc(1, sizeof(struct numalab_oracle));
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    (void)oracle;
    (void)phase;
}

static const void *renewed(const struct numalab_oracle *oracle, size_t array)
{
    return array == QUESTION ? oracle->question : NULL;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t many,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    (void)oracle;
    (void)array;
    (void)first;
    (void)many;
    (void)actual;
    (void)mismatch;
    return 0;
}

/* The kind can be told from what is asked. */
static size_t draw(struct numalab_oracle *oracle, size_t kind, uint64_t random)
{
    oracle->question[0] = (int64_t)(random % 1000 * KINDS + kind + 1);
    return (size_t)(random % 1000);
}

static void truth(const struct numalab_oracle *oracle, int64_t truth[NUMALAB_MAX_ANSWERS])
{
    truth[0] = oracle->question[0];
    truth[1] = -oracle->question[0];
}

static const char *const kinds[] = {"one", "two", "three", NULL};
static const struct numalab_series series = {
    .kinds = kinds,
    .series_per_kind = SERIES_PER_KIND,
    .n = 1,
    .first_answer = FIRST,
    .answer_count = 2,
    .draw = draw,
    .truth = truth,
};
static const struct numalab_stop_detection watching = {
    .request = QUESTION, .stops = FIRST, .steal = SECOND, .live_phase = "find_stops"};
static const struct numalab_stop_detection blind = {
    .request = QUESTION, .stops = FIRST, .steal = SECOND, .live_phase = "say_nothing"};

static struct numalab_driver driver_of(const char *compute_phase,
                                       const struct numalab_stop_detection *watches)
{
    return (struct numalab_driver){
        .lab = "tests",
        .arrays = arrays,
        .array_count = 3,
        .count = count,
        .initialize_phase = "clear",
        .compute_phase = compute_phase,
        .series = &series,
        .stop_detection = watches,
        .bytes_moved = bytes_moved,
        .create = create,
        .destroy = destroy,
        .advance = advance,
        .renewed = renewed,
        .compare = compare,
    };
}

static json_t *run(numalab_run_function *function, const struct numalab_driver *driver,
                   uint64_t seed)
{
    const struct numalab_run_options options = {
        .driver = driver,
        .node = &node,
        .thread_count = 1,
        .role = {{.name = "submission", .program = ANSWERING_WORKER, .rank_count = 1}},
        .role_count = 1,
        .sampling = {.seed = seed},
        .limits = {.phase_s = 60.0,
                   .memory_bytes = (uint64_t)64 << 20,
                   .output_bytes = 1 << 20,
                   .thread_count = 1},
        .cancel_fd = -1,
    };
    json_t *record = function(&options);
    const json_t *outcome = json_object_get(record, "outcome");
    EXPECT(strcmp(json_string_value(json_object_get(outcome, "status")), "ok") == 0);
    return record;
}

static int64_t number(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

/* Each kind as often, and what is told beside the truth. */
static void test_series(void)
{
    const struct numalab_driver answers = driver_of("answer", NULL),
                                silent = driver_of("say_nothing", NULL);
    json_t *record = run(numalab_run_series, &answers, 7),
           *again = run(numalab_run_series, &answers, 7),
           *other = run(numalab_run_series, &answers, 8),
           *none = run(numalab_run_series, &silent, 7);
    const json_t *list = json_object_get(record, "series");
    size_t of_kind[KINDS] = {0}, i;
    const json_t *one;
    EXPECT(json_array_size(list) == SERIES);
    json_array_foreach(list, i, one)
    {
        const json_t *told = json_object_get(one, "answers"),
                     *right = json_object_get(one, "truth");
        const size_t kind = (size_t)(number(right, 0) - 1) % KINDS;
        const char *name = json_string_value(json_object_get(one, "kind"));
        EXPECT(strcmp(name, kinds[kind]) == 0);
        EXPECT(json_equal(told, right) && json_array_size(told) == 2 && number(told, 1) < 0);
        EXPECT(json_integer_value(json_object_get(one, "length")) < 1000);
        of_kind[kind]++;
    }
    for (size_t kind = 0; kind < KINDS; kind++) EXPECT(of_kind[kind] == SERIES_PER_KIND);
    EXPECT(json_equal(record, again));
    EXPECT(!json_equal(list, json_object_get(other, "series")));

    /* Who writes nothing has not told what it told before, or zero. */
    json_array_foreach(json_object_get(none, "series"), i, one)
        EXPECT(number(json_object_get(one, "answers"), 0) == INT64_MIN);
    json_decref(record);
    json_decref(again);
    json_decref(other);
    json_decref(none);
}

/* Each stop lasts so long that the worker can't miss it, by signals or by its clock; of its own,
 * the node may add some. What is too short is made, too, and not by the clock. */
static void test_stops(void)
{
    const struct numalab_driver finds = driver_of("answer", &watching);
    json_t *record = run(numalab_run_stops, &finds, 3);
    const json_t *stops = json_object_get(record, "stops"),
                 *told = json_object_get(record, "reported");
    const double least_s = json_number_value(json_object_get(record, "least_s"));
    double sum_s = 0.0;
    size_t i;
    const json_t *stop;
    EXPECT(least_s > 0.0);
    EXPECT(json_array_size(stops) > 0);
    json_array_foreach(stops, i, stop)
    {
        const double least = json_number_value(json_array_get(stop, 0)),
                     most = json_number_value(json_array_get(stop, 1));
        EXPECT(least >= least_s && most >= least);
        sum_s += least;
    }
    EXPECT(json_number_value(json_object_get(record, "ahead_s")) > least_s);
    EXPECT(json_array_size(json_object_get(record, "too_short")) > 0);
    EXPECT(number(told, 0) >= (int64_t)json_array_size(stops));
    EXPECT(1e-9 * (double)number(told, 1) >= sum_s);
    json_decref(record);
}

/* Nobody is stopped who does not watch. */
static void test_immediate_return(void)
{
    const struct numalab_driver returns = driver_of("answer", &blind);
    json_t *record = run(numalab_run_stops, &returns, 3);
    EXPECT(json_array_size(json_object_get(record, "stops")) == 0);
    EXPECT(number(json_object_get(record, "reported"), 0) == 0);
    json_decref(record);
}

int main(void)
{
    test_series();
    test_stops();
    test_immediate_return();
    return failures > 0;
}
