/* The oracle of lab 02 finds what is wrong, and nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numalab/driver.h"
#include "scalar.h"
#include "tests/expect.h"

static int failures;

enum { N = 20011 };
static double array[3][N];

static void initialize(void)
{
    for (size_t i = 0; i < N; i++) {
        array[0][i] = 1.0;
        array[1][i] = 2.0;
        array[2][i] = 0.0;
    }
}

/* With a fused multiply-add in the triad, as a compiler may. */
static void stream(void)
{
    for (size_t i = 0; i < N; i++) {
        array[1][i] = STREAM_SCALAR * array[0][i];
        array[2][i] = array[0][i] + array[1][i];
        array[0][i] = fma(STREAM_SCALAR, array[2][i], array[1][i]);
    }
}

static size_t count_mismatches(const struct numalab_driver *driver,
                               const struct numalab_oracle *oracle, size_t chunk,
                               struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t k = 0; k < 3; k++)
        for (size_t first = 0; first < N; first += chunk) {
            struct numalab_mismatch here;
            size_t count = N - first < chunk ? N - first : chunk;
            size_t actual = driver->compare(oracle, k, first, count, array[k] + first, &here);
            if (actual && !mismatches) *mismatch = here;
            mismatches += actual;
        }
    return mismatches;
}

int main(void)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    struct numalab_mismatch mismatch = {0};
    struct numalab_oracle *oracle = driver->create(N);
    EXPECT(oracle != NULL);
    EXPECT(strcmp(driver->part, "stream") == 0 && driver->bytes_moved(1000) == 112000);
    EXPECT(driver->bytes_allocated(1000) == 32000); /* STREAM counts 80,000 */

    initialize();
    driver->advance(oracle, "initialize");
    EXPECT(count_mismatches(driver, oracle, 512, &mismatch) == 0);
    for (uint64_t repetition = 0; repetition < 100; repetition++) {
        for (uint64_t i = 0; i < 8; i++) {
            struct numalab_change change;
            EXPECT(driver->change(oracle, 7919 * (i + 8 * repetition), 31 * i + 5, &change) == 0);
            EXPECT(change.array == 0);
            memcpy(&array[0][change.element], change.value, sizeof(double));
        }
        stream();
        driver->advance(oracle, "stream");
    }
    EXPECT(count_mismatches(driver, oracle, 512, &mismatch) == 0);
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 0);

    /* One element off by little, and NaN, are found and named. */
    const size_t places[] = {0, 1, 511, 512, N - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        double kept = array[2][places[i]];
        array[2][places[i]] = kept * (1.0 + 1e-9);
        EXPECT(count_mismatches(driver, oracle, 512, &mismatch) == 1);
        EXPECT(mismatch.array == 2 && mismatch.element == places[i]);
        array[2][places[i]] = NAN;
        EXPECT(count_mismatches(driver, oracle, 512, &mismatch) == 1 && isnan(mismatch.actual));
        array[2][places[i]] = kept;
    }

    /* An input that was changed, answered as if it had not been. */
    struct numalab_change change;
    const double kept = array[0][N / 2];
    EXPECT(driver->change(oracle, N / 2, 60, &change) == 0);
    array[0][N / 2] = kept;
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 1 && mismatch.element == N / 2);
    memcpy(&array[0][N / 2], change.value, sizeof(double));
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 0);

    /* Initialised, and not computed. */
    initialize();
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) > N);
    driver->destroy(oracle);
    return failures > 0;
}
