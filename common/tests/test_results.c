/* Which elements are compared, and what is kept of what is wrong. */
#include "monitor/results.h"

#include <stdbool.h>
#include <unistd.h>

#include "expect.h"

static int failures;

enum { N = 100000 };
static size_t compared[2 * NUMALAB_CHANGES + 2 * NUMALAB_RANDOM_PAGES + 16], compare_count;
static bool all_wrong;

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *found, struct numalab_mismatch *mismatch)
{
    (void)oracle;
    (void)found;
    (void)count;
    if (compare_count < sizeof compared / sizeof compared[0]) compared[compare_count] = first;
    compare_count++;
    *mismatch = (struct numalab_mismatch){.array = array, .element = first};
    return all_wrong;
}

/* Every element is its index. */
static size_t compare_with_index(const struct numalab_oracle *oracle, size_t array, size_t first,
                                 size_t count, const void *found, struct numalab_mismatch *mismatch)
{
    size_t wrong = 0;
    (void)oracle;
    for (size_t i = 0; i < count; i++) {
        const double value = ((const double *)found)[i], expected = (double)(first + i);
        if (!(value == expected) && wrong++ == 0)
            *mismatch = (struct numalab_mismatch){array, first + i, expected, value};
    }
    return wrong;
}

static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 1};

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
    EXPECT(results.checked == LARGE && results.wrong == 0);

    for (size_t i = 0; i < sizeof changed / sizeof changed[0]; i++)
        EXPECT(numalab_worker_write(&worker, worker.address[0] + changed[i] * sizeof other, &other,
                                    sizeof other) == 0);
    EXPECT(numalab_results_compare_array(&worker, &expected, 0, &results) == 0);
    EXPECT(results.checked == 2 * (uint64_t)LARGE && results.wrong == 3);
    EXPECT(results.first_wrong.element == 2500001 && results.first_wrong.found == other);

    /* Its second half is not there any more. */
    worker.address[0] += LARGE / 2 * sizeof other;
    EXPECT(numalab_results_compare_array(&worker, &expected, 0, &results) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_ARRAY_GONE);
    numalab_worker_end(&worker);
}

int main(void)
{
    const size_t per_page = (size_t)sysconf(_SC_PAGESIZE) / sizeof(double);
    struct numalab_driver driver = *numalab_drivers[0];
    struct numalab_worker worker;
    struct numalab_results results = {0};
    struct numalab_random random = {0};
    struct numalab_change changes[NUMALAB_CHANGES] = {0};

    driver.compare = compare;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, N, &driver, NUMALAB_ANONYMOUS) == 0);

    /* The page of every change, and random ones that differ from them and each other. */
    for (size_t i = 0; i < NUMALAB_CHANGES; i++) changes[i].element = i * per_page + 3;
    struct numalab_expected expected = {&driver, NULL, "compute", 0};
    EXPECT(numalab_results_spot_check(&worker, &expected, &random, changes, &results) == 0);
    EXPECT(compare_count == NUMALAB_CHANGES + NUMALAB_RANDOM_PAGES);
    for (size_t i = 0; i < NUMALAB_CHANGES; i++) EXPECT(compared[i] == i * per_page);
    EXPECT(compared[NUMALAB_CHANGES] != compared[NUMALAB_CHANGES + 1]);

    /* All of an array in pieces; the first wrong one is kept, and when it was seen. */
    results = (struct numalab_results){0};
    all_wrong = true;
    compare_count = 0;
    expected.phase = "initialize";
    EXPECT(numalab_results_compare(&worker, &expected, 0, 0, N, &results) == 0);
    expected = (struct numalab_expected){&driver, NULL, "compute", 2};
    EXPECT(numalab_results_compare(&worker, &expected, 0, 0, N, &results) == 0);
    EXPECT(results.checked == 2 * N && results.wrong == compare_count && compare_count > 2);
    EXPECT(results.first_wrong.element == 0 && results.first_wrong_repetition == 0);
    EXPECT(results.first_wrong_phase[0] == 'i');
    numalab_worker_end(&worker);
    test_large_array();
    return failures > 0;
}
