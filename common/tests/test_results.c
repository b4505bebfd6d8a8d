/* Which elements are compared, and what is kept of what is wrong. */
#include "monitor/results.h"

#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "expect.h"

static int failures;

enum { N = 100000 };
static size_t compared[2 * (NUMALAB_SPOT_CHANGES + NUMALAB_SPOT_PLACES) + 16], compare_count;
static bool is_all_mismatched;

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    (void)oracle;
    (void)actual;
    (void)count;
    if (compare_count < sizeof compared / sizeof compared[0]) compared[compare_count] = first;
    compare_count++;
    *mismatch = (struct numalab_mismatch){.array = array, .element = first};
    return is_all_mismatched;
}

/* Every element is its index. */
static size_t compare_with_index(const struct numalab_oracle *oracle, size_t array, size_t first,
                                 size_t count, const void *actual,
                                 struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    (void)oracle;
    for (size_t i = 0; i < count; i++) {
        const double value = ((const double *)actual)[i], expected = (double)(first + i);
        if (!(value == expected) && mismatches++ == 0)
            *mismatch = (struct numalab_mismatch){array, first + i, expected, value, "", ""};
    }
    return mismatches;
}

static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 1};

/* Whole numbers that a double does not tell apart. */
static void test_digits(void)
{
    struct numalab_mismatch seen = numalab_make_unsigned_mismatch(1, 2, 0, UINT64_MAX);
    EXPECT(seen.array == 1 && seen.element == 2 && seen.actual > 1e19);
    EXPECT(strcmp(seen.actual_digits, "18446744073709551615") == 0);
    seen = numalab_make_signed_mismatch(0, 0, INT64_MIN, (1LL << 53) + 1);
    EXPECT(strcmp(seen.expected_digits, "-9223372036854775808") == 0);
    EXPECT(strcmp(seen.actual_digits, "9007199254740993") == 0);
}

/* An array that several threads look at, where there are cores. */
static void test_large_array(void)
{
    enum { LARGE = 6000001 };
    static const size_t changed[] = {LARGE - 1, 2500001, 5000001};
    const double other = -1.0;
    struct numalab_driver driver = *numalab_drivers[0];
    const struct numalab_expected expected = {&driver, NULL, "initialize", 0};
    struct numalab_results results = {0};
    struct numalab_worker worker;

    driver.compare = compare_with_index;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, LARGE, &driver, NUMALAB_ANONYMOUS) == 0 &&
           numalab_worker_run(&worker, "initialize", NULL) == 0);
    EXPECT(numalab_results_compare_array(&worker, &expected, 0, &results) == 0);
    EXPECT(results.checked == LARGE && results.mismatches == 0);

    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++)
        EXPECT(numalab_worker_write_or_fail(&worker, worker.address[0] + changed[i] * sizeof other,
                                            &other, sizeof other) == 0);
    EXPECT(numalab_results_compare_array(&worker, &expected, 0, &results) == 0);
    EXPECT(results.checked == 2 * (uint64_t)LARGE && results.mismatches == 3);
    EXPECT(results.first_mismatch.element == 2500001 && results.first_mismatch.actual == other);

    /* Its second half is not there any more. */
    worker.address[0] += LARGE / 2 * sizeof other;
    EXPECT(numalab_results_compare_array(&worker, &expected, 0, &results) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_ARRAY_GONE);
    numalab_worker_end(&worker);
}

/* Of the driver below: what was changed, and how often. */
enum { ELEMENTS_PER_CHANGE = 40 }; /* so many that several threads write them */
static unsigned char times_changed[N];

static int note_change(struct numalab_oracle *oracle, uint64_t random_position,
                       uint64_t random_value, struct numalab_change *change)
{
    const double value = (double)(random_value >> 11);
    (void)oracle;
    *change = (struct numalab_change){.element = (size_t)(random_position % N)};
    memcpy(change->value, &value, sizeof value);
    times_changed[change->element]++;
    return 0;
}

/* One element of each part, another one each time, and all of them in the worker's memory. */
static void test_changes(void)
{
    struct numalab_driver driver = *numalab_drivers[0];
    struct numalab_random random = {0};
    struct numalab_changes changes = {0};
    struct numalab_worker worker;

    driver.change = note_change;
    driver.elements_per_change = ELEMENTS_PER_CHANGE;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, N, &driver, NUMALAB_ANONYMOUS) == 0);
    for (size_t round = 1; round <= 2; round++) {
        EXPECT(numalab_results_draw_changes(&driver, NULL, &random, N, &changes) == 0);
        EXPECT(changes.count == N / ELEMENTS_PER_CHANGE);
        size_t uneven = 0, differing = 0, again = 0;
        for (size_t first = 0; first < N; first += ELEMENTS_PER_CHANGE) {
            size_t here = 0;
            for (size_t i = first; i < first + ELEMENTS_PER_CHANGE; i++) {
                here += times_changed[i];
                again += times_changed[i] == 2;
            }
            uneven += here != round;
        }
        EXPECT(uneven == 0 && again < N / ELEMENTS_PER_CHANGE / 10);
        EXPECT(numalab_results_write_changes(&worker, &driver, NULL, &changes) == 0);
        for (size_t i = 0; i < changes.count; i++) {
            double value = 0.0;
            const uint64_t place = worker.address[0] + changes.list[i].element * sizeof value;
            EXPECT(numalab_worker_read_or_fail(&worker, place, &value, sizeof value) == 0);
            differing += memcmp(&value, changes.list[i].value, sizeof value) != 0;
        }
        EXPECT(differing == 0);
    }

    /* Never fewer, nor more than are worth it. */
    EXPECT(numalab_results_draw_changes(&driver, NULL, &random, 1, &changes) == 0);
    EXPECT(changes.count == NUMALAB_LEAST_CHANGES);
    EXPECT(numalab_results_draw_changes(&driver, NULL, &random, (size_t)1 << 40, &changes) == 0);
    EXPECT(changes.count == NUMALAB_MOST_CHANGES);

    /* Of an array that is gone, that is told. */
    EXPECT(numalab_results_draw_changes(&driver, NULL, &random, N, &changes) == 0);
    worker.address[0] += (uint64_t)1 << 40;
    EXPECT(numalab_results_write_changes(&worker, &driver, NULL, &changes) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_ARRAY_GONE);
    numalab_changes_free(&changes);
    EXPECT(changes.count == 0 && changes.list == NULL);
    numalab_worker_end(&worker);
}

int main(void)
{
    const size_t per_page = (size_t)sysconf(_SC_PAGESIZE) / sizeof(double);
    struct numalab_driver driver = *numalab_drivers[0];
    struct numalab_worker worker;
    struct numalab_results results = {0};
    struct numalab_random random = {0};
    struct numalab_change list[NUMALAB_SPOT_CHANGES] = {0};
    const struct numalab_changes changes = {NUMALAB_SPOT_CHANGES, NUMALAB_SPOT_CHANGES, list};

    driver.compare = compare;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, N, &driver, NUMALAB_ANONYMOUS) == 0);

    /* The page of every change, and random ones that differ from them and each other. */
    for (size_t i = 0; i < NUMALAB_SPOT_CHANGES; i++) list[i].element = i * per_page + 3;
    struct numalab_expected expected = {&driver, NULL, "compute", 0};
    EXPECT(numalab_results_spot_check(&worker, &expected, &random, &changes, &results) == 0);
    EXPECT(compare_count == NUMALAB_SPOT_CHANGES + NUMALAB_SPOT_PLACES);
    for (size_t i = 0; i < NUMALAB_SPOT_CHANGES; i++) EXPECT(compared[i] == i * per_page);
    EXPECT(compared[NUMALAB_SPOT_CHANGES] != compared[NUMALAB_SPOT_CHANGES + 1]);

    /* Where no list has them, as many places by chance. */
    compare_count = 0;
    EXPECT(numalab_results_spot_check(&worker, &expected, &random, &(struct numalab_changes){0},
                                      &results) == 0);
    EXPECT(compare_count == NUMALAB_SPOT_CHANGES + NUMALAB_SPOT_PLACES);

    /* All of an array in pieces; the first wrong one is kept, and when it was seen. */
    results = (struct numalab_results){0};
    is_all_mismatched = true;
    compare_count = 0;
    expected.phase = "initialize";
    EXPECT(numalab_results_compare(&worker, &expected, 0, 0, N, &results) == 0);
    expected = (struct numalab_expected){&driver, NULL, "compute", 2};
    EXPECT(numalab_results_compare(&worker, &expected, 0, 0, N, &results) == 0);
    EXPECT(results.checked == 2 * N && results.mismatches == compare_count && compare_count > 2);
    EXPECT(results.first_mismatch.element == 0 && results.mismatch_repetition == 0);
    EXPECT(results.mismatch_phase[0] == 'i');
    numalab_worker_end(&worker);
    test_digits();
    test_large_array();
    test_changes();
    return failures > 0;
}
