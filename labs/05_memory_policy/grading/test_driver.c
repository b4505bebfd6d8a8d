/* The oracle of lab 05 finds what is wrong, and nothing else. */
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "tests/expect.h"

static int failures;

enum { N = 5003, ARRAYS = 6, REPETITIONS = 3, CHANGES = 20 };
enum { TABLE, BLOCKS, MATRIX, STREAM, OTHERS, SUMS };
static uint64_t array[ARRAYS][N];

static void initialize(void)
{
    memset(array, 0, sizeof array);
    for (size_t i = 0; i < N; i++) {
        array[TABLE][i] = table_value(i);
        array[BLOCKS][i] = blocks_value(i);
        array[MATRIX][i] = matrix_value(i);
        array[STREAM][i] = stream_value(i);
        array[OTHERS][i] = others_value(i);
    }
}

static void compute(void)
{
    for (size_t i = 0; i < N; i++) {
        for (size_t k = 0; k < LOOKUPS; k++) array[BLOCKS][i] += array[TABLE][table_index(i, k, N)];
        array[STREAM][i] += array[OTHERS][i];
        array[SUMS][i] = array[BLOCKS][i] + array[STREAM][i];
    }
}

static size_t count_mismatches(const struct numalab_oracle *oracle, size_t chunk,
                               struct numalab_mismatch *mismatch)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    size_t mismatches = 0;
    for (size_t k = 0; k < ARRAYS; k++)
        for (size_t first = 0; first < N; first += chunk) {
            struct numalab_mismatch here;
            const size_t count = N - first < chunk ? N - first : chunk;
            const size_t more = driver->compare(oracle, k, first, count, array[k] + first, &here);
            if (more && !mismatches) *mismatch = here;
            mismatches += more;
        }
    return mismatches;
}

/* Lookups go all over the table, and to each element about as often. */
static void test_lookups(void)
{
    size_t met[8] = {0};
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < LOOKUPS; k++) {
            const size_t index = table_index(i, k, N);
            EXPECT(index < N);
            if (index < N) met[8 * index / N]++;
        }
    for (size_t part = 0; part < 8; part++)
        EXPECT(met[part] > LOOKUPS * N / 10 && met[part] < LOOKUPS * N / 6);
    EXPECT(table_index(0, LOOKUPS - 1, 1) == 0);
    EXPECT(written_before(1) == 0 && written_before(80) == 10);
}

int main(void)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    const size_t chunks[] = {1, 77, 4096, N};
    struct numalab_mismatch mismatch;
    struct numalab_oracle *oracle = driver->create(N);
    EXPECT(oracle != NULL);
    test_lookups();

    initialize();
    driver->advance(oracle, "initialize");
    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        for (uint64_t i = 0; i < CHANGES; i++) {
            struct numalab_change change;
            EXPECT(driver->change(oracle, 7919 * (i + CHANGES * repetition), 31 * i + 5, &change) ==
                   0);
            memcpy(&array[change.array][change.element], change.value, sizeof(uint64_t));
        }
        compute();
        driver->advance(oracle, "compute");
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
            EXPECT(count_mismatches(oracle, chunks[i], &mismatch) == 0);
    }
    for (size_t k = 0; k < ARRAYS; k++) {
        array[k][N - 1]++;
        EXPECT(count_mismatches(oracle, 1000, &mismatch) == 1);
        EXPECT(mismatch.array == k && mismatch.element == N - 1);
        EXPECT(mismatch.actual == mismatch.expected + 1);
        array[k][N - 1]--;
    }

    /* Half a matrix, as before it changes hands. */
    struct numalab_oracle *half = driver->create(N);
    memset(array, 0, sizeof array);
    for (size_t i = 0; i < written_before(N); i++) array[MATRIX][i] = matrix_value(i);
    driver->advance(half, "write_first");
    EXPECT(count_mismatches(half, N, &mismatch) == 0);
    driver->advance(half, "write_rest");
    EXPECT(count_mismatches(half, N, &mismatch) == N - written_before(N));
    driver->destroy(half);
    driver->destroy(oracle);
    return failures ? 1 : 0;
}
