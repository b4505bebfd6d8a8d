/* The oracle of lab 10 finds what is wrong, and nothing else. */
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "tests/expect.h"

static int failures;

enum { N = 5000, REPETITIONS = 6, CHANGES = 9 };
enum { KEYS, COUNTS, SLOTS };
static int32_t keys[N];
static int64_t counts[N];
static struct slot reported[N];
static void *const arrays[] = {keys, counts, reported};

static size_t count_mismatches(const struct numalab_driver *driver,
                               const struct numalab_oracle *oracle, size_t n, size_t chunk,
                               struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t k = 0; k < driver->array_count; k++)
        for (size_t first = 0; first < n; first += chunk) {
            struct numalab_mismatch here;
            const size_t count = n - first < chunk ? n - first : chunk;
            const char *actual = (const char *)arrays[k] + first * driver->arrays[k].element_bytes;
            const size_t more = driver->compare(oracle, k, first, count, actual, &here);
            if (more && !mismatches) *mismatch = here;
            mismatches += more;
        }
    return mismatches;
}

static void count_keys(size_t n)
{
    int64_t bins[BINS] = {0};
    for (size_t i = 0; i < n; i++) bins[keys[i]]++;
    memcpy(counts, bins, (n < BINS ? n : BINS) * sizeof *bins);
}

static void initialize(const struct numalab_driver *driver, struct numalab_oracle *oracle, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        keys[i] = initial_key(i);
        counts[i] = initial_count;
    }
    driver->advance(oracle, "initialize");
}

/* Every key is met about as often as any other, and none is none. */
static void test_keys(void)
{
    size_t met[BINS] = {0};
    for (size_t i = 0; i < N; i++) {
        const int32_t key = initial_key(i);
        EXPECT(key >= 0 && key < BINS);
        if (key >= 0 && key < BINS) met[key]++;
    }
    for (size_t k = 0; k < BINS; k++) EXPECT(met[k] > N / BINS / 2 && met[k] < 2 * N / BINS);
}

static void test_size(const struct numalab_driver *driver, size_t n)
{
    struct numalab_oracle *oracle = driver->create(n);
    struct numalab_mismatch mismatch = {0};
    uint64_t random = n;
    EXPECT(oracle != NULL);
    initialize(driver, oracle, n);
    EXPECT(count_mismatches(driver, oracle, n, 77, &mismatch) == 0);

    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        for (size_t i = 0; i < CHANGES; i++) {
            struct numalab_change change;
            random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            EXPECT(driver->change(oracle, random >> 20, random >> 7, &change) == 0);
            EXPECT(change.array == KEYS && change.element == (random >> 20) % n);
            memcpy(&keys[change.element], change.value, sizeof(int32_t));
        }
        /* What was counted is that of before until it is counted again. */
        EXPECT(count_mismatches(driver, oracle, n, N, &mismatch) == 0);
        count_keys(n);
        driver->advance(oracle, "count");
        EXPECT(count_mismatches(driver, oracle, n, 77, &mismatch) == 0);
    }

    /* One too many or too few, of each; and a key that somebody has written. */
    for (size_t k = 0; k < BINS && k < n; k++)
        for (int off = -1; off <= 1; off += 2) {
            counts[k] += off;
            EXPECT(count_mismatches(driver, oracle, n, 512, &mismatch) == 1);
            EXPECT(mismatch.array == COUNTS && mismatch.element == k);
            EXPECT((int64_t)mismatch.actual - (int64_t)mismatch.expected == off);
            counts[k] -= off;
        }
    keys[n - 1] ^= 1;
    EXPECT(count_mismatches(driver, oracle, n, 512, &mismatch) == 1);
    EXPECT(mismatch.array == KEYS && mismatch.element == n - 1);
    keys[n - 1] ^= 1;
    if (n > BINS) {
        counts[BINS] = 0; /* behind the last of them */
        EXPECT(count_mismatches(driver, oracle, n, 512, &mismatch) == 1);
        counts[BINS] = initial_count;
    }

    /* Sums that were not cleared hold those of the call before, too. */
    for (size_t k = 0; k < BINS && k < n; k++) counts[k] += (int64_t)n;
    if (n > BINS) EXPECT(count_mismatches(driver, oracle, n, N, &mismatch) == BINS);
    count_keys(n);

    /* Whatever slots says is no result. */
    reported[0] = (struct slot){counts, BINS, 0};
    EXPECT(count_mismatches(driver, oracle, n, N, &mismatch) == 0);

    initialize(driver, oracle, n);
    EXPECT(count_mismatches(driver, oracle, n, N, &mismatch) == 0);
    driver->destroy(oracle);
}

int main(void)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    EXPECT(driver->arrays[SLOTS].element_bytes == sizeof(struct slot));
    EXPECT(driver->counting && driver->counting->length == BINS);
    EXPECT(driver->counting->sums == COUNTS && driver->counting->slots == SLOTS);
    test_keys();
    test_size(driver, 1);
    test_size(driver, 7);
    test_size(driver, N);
    return failures > 0;
}
