/* The oracle of lab 01 finds what is wrong, and nothing else. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "numalab/driver.h"
#include "tests/expect.h"

static int failures;

enum { N = 20011 };
static float array[3][N];

/* What a right kernel does. */
static void initialize(void)
{
    for (size_t i = 0; i < N; i++) {
        array[0][i] = 0.0f;
        array[1][i] = (float)(i % 7);
        array[2][i] = 1.0f;
    }
}

static void compute(void)
{
    for (size_t i = 0; i < N; i++) array[0][i] += array[1][i] * array[2][i];
}

static size_t count_mismatches(const struct numalab_oracle *oracle, size_t chunk,
                             struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t k = 0; k < 3; k++)
        for (size_t first = 0; first < N; first += chunk) {
            struct numalab_mismatch here;
            size_t count = N - first < chunk ? N - first : chunk;
            size_t actual =
                numalab_drivers[0]->compare(oracle, k, first, count, array[k] + first, &here);
            if (actual && !mismatches) *mismatch = here;
            mismatches += actual;
        }
    return mismatches;
}

int main(void)
{
    struct numalab_mismatch mismatch;
    struct numalab_oracle *oracle = numalab_drivers[0]->create(N);
    const size_t chunks[] = {77, 1000, 4096, N};
    EXPECT(oracle != NULL);
    EXPECT(numalab_drivers[0]->bytes_moved(1000) == 16000);

    initialize();
    numalab_drivers[0]->advance(oracle, "initialize");
    for (size_t repetition = 0; repetition < 3; repetition++) {
        for (uint64_t i = 0; i < 40; i++) {
            struct numalab_change change;
            EXPECT(numalab_drivers[0]->change(oracle, 7919 * (i + 40 * repetition), 31 * i + 5,
                                         &change) == 0);
            memcpy(&array[change.array][change.element], change.value, sizeof(float));
        }
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
            EXPECT(count_mismatches(oracle, chunks[i], &mismatch) == 0);
        compute();
        numalab_drivers[0]->advance(oracle, "compute");
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
            EXPECT(count_mismatches(oracle, chunks[i], &mismatch) == 0);
    }

    /* One element off, at ends and at block borders, is found and named. */
    const size_t places[] = {0, 1, 4095, 4096, 7167, 7168, N - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        float kept = array[0][places[i]];
        array[0][places[i]] = kept + 1.0f;
        EXPECT(count_mismatches(oracle, 4096, &mismatch) == 1);
        EXPECT(mismatch.array == 0 && mismatch.element == places[i]);
        EXPECT(mismatch.expected == kept && mismatch.actual == kept + 1.0f);
        array[0][places[i]] = NAN;
        EXPECT(count_mismatches(oracle, N, &mismatch) == 1 && isnan(mismatch.actual));
        array[0][places[i]] = kept;
    }

    /* An input that was changed, answered with the value it had before. */
    struct numalab_change change;
    EXPECT(numalab_drivers[0]->change(oracle, 10, 3 * 60 + 1, &change) == 0);
    EXPECT(change.array == 1 && change.element == 10);
    EXPECT(count_mismatches(oracle, N, &mismatch) == 1);
    EXPECT(mismatch.array == 1 && mismatch.element == 10);

    /* One repetition short: everything but multiples of 7 is wrong. */
    memcpy(&array[1][10], change.value, sizeof(float));
    numalab_drivers[0]->advance(oracle, "compute");
    EXPECT(count_mismatches(oracle, N, &mismatch) > N / 2);
    numalab_drivers[0]->destroy(oracle);
    return failures > 0;
}
