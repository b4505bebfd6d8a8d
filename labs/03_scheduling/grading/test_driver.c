/* The oracles of lab 03 find what is wrong, and nothing else. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "numalab/random.h"
#include "tests/expect.h"

static int failures;

enum { N = 1500, ARRAYS = 4, REPETITIONS = 5, CHANGES = 8 };
enum { X, Y, Z, E };
enum { A, B, C };
static double array[ARRAYS][N];

static const struct numalab_driver *driver_of(const char *part)
{
    for (size_t i = 0; numalab_drivers[i]; i++)
        if (strcmp(numalab_drivers[i]->part, part) == 0) return numalab_drivers[i];
    return NULL;
}

static size_t count_mismatches(const struct numalab_driver *driver,
                               const struct numalab_oracle *oracle, size_t chunk,
                               struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t k = 0; k < driver->array_count; k++)
        for (size_t first = 0; first < N; first += chunk) {
            struct numalab_mismatch here;
            size_t count = N - first < chunk ? N - first : chunk;
            size_t actual = driver->compare(oracle, k, first, count, array[k] + first, &here);
            if (actual && !mismatches) *mismatch = here;
            mismatches += actual;
        }
    return mismatches;
}

static void change_element(const struct numalab_driver *driver, struct numalab_oracle *oracle,
                           uint64_t position, uint64_t value)
{
    struct numalab_change change;
    EXPECT(driver->change(oracle, position, value, &change) == 0);
    EXPECT(change.element == position % N);
    memcpy(&array[change.array][change.element], change.value, sizeof(double));
}

/* One element off by this, at both ends and elsewhere, is found and named. */
static void expect_mismatch(const struct numalab_driver *driver,
                            const struct numalab_oracle *oracle, size_t k, double relative)
{
    const size_t places[] = {1, 2, 511, 512, N - 1};
    struct numalab_mismatch mismatch = {0};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        double *element = &array[k][places[i]], kept = *element;
        *element = kept * (1.0 + relative);
        EXPECT(count_mismatches(driver, oracle, 512, &mismatch) == 1);
        EXPECT(mismatch.array == k && mismatch.element == places[i]);
        EXPECT(fabs(mismatch.expected - kept) <= 1e-12 * kept && mismatch.actual == *element);
        *element = NAN;
        EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 1 && isnan(mismatch.actual));
        *element = kept;
    }
}

/* ---- pair_energy ------------------------------------------------------------- */

enum order { UPWARD, DOWNWARD, FOUR_SUMS, FUSED, ORDERS };

static double term(size_t i, size_t j, enum order order)
{
    double dx = array[X][i] - array[X][j];
    double dy = array[Y][i] - array[Y][j];
    double dz = array[Z][i] - array[Z][j];
    return 1.0 / sqrt(order == FUSED ? fma(dx, dx, fma(dy, dy, fma(dz, dz, 1e-6)))
                                     : dx * dx + dy * dy + dz * dz + 1e-6);
}

/* What right kernels do, each in its way. */
static void compute_pairs(enum order order)
{
    for (size_t i = 0; i < N; i++) {
        double sum[4] = {0.0};
        for (size_t k = 0; k < i; k++)
            sum[order == FOUR_SUMS ? k % 4 : 0] +=
                term(i, order == DOWNWARD ? i - 1 - k : k, order);
        array[E][i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
    }
}

/* Every particle goes elsewhere, and nothing else changes. */
static void renew(const struct numalab_driver *driver, struct numalab_oracle *oracle,
                  uint64_t random)
{
    size_t same = 0;
    driver->renew(oracle, random);
    EXPECT(driver->renewed(oracle, E) == NULL);
    for (size_t k = X; k < E; k++) {
        const double *values = driver->renewed(oracle, k);
        for (size_t i = 0; i < N; i++) same += array[k][i] == values[i];
        memcpy(array[k], values, sizeof array[k]);
    }
    EXPECT(same == 0);
}

static void test_pairs(void)
{
    const struct numalab_driver *driver = driver_of("pair_energy");
    struct numalab_oracle *oracle = driver->create(N);
    struct numalab_mismatch mismatch = {0};
    uint64_t state = 1;
    EXPECT(oracle != NULL);
    EXPECT(driver->bytes_moved(1000) == 0);

    for (size_t i = 0; i < N; i++) {
        array[X][i] = initial_x(i);
        array[Y][i] = initial_y(i);
        array[Z][i] = initial_z(i);
        array[E][i] = initial_e;
    }
    driver->advance(oracle, "initialize_pairs");
    EXPECT(count_mismatches(driver, oracle, 77, &mismatch) == 0);

    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        driver->advance(oracle, "pair_energy");
        for (int order = 0; order < ORDERS; order++) {
            compute_pairs((enum order)order);
            EXPECT(count_mismatches(driver, oracle, 77, &mismatch) == 0);
        }
        renew(driver, oracle, numalab_splitmix(&state));
        /* e is that of before until it is computed again. */
        EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 0);
    }
    compute_pairs(UPWARD);
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) > N / 2);
    driver->advance(oracle, "pair_energy");
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 0);
    expect_mismatch(driver, oracle, E, 1e-11);
    expect_mismatch(driver, oracle, X, DBL_EPSILON);

    /* One term too many or too few; the first energy is 0 and nothing else. */
    array[E][N - 1] -= term(N - 1, 0, UPWARD);
    array[E][N - 2] += 1000.0;
    array[E][0] = 1e-300;
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 3);

    /* The same number, the same places: a record's seed is enough to have them again. */
    double before[N];
    renew(driver, oracle, 5);
    memcpy(before, array[Y], sizeof before);
    renew(driver, oracle, 6);
    driver->renew(oracle, 5);
    EXPECT(memcmp(driver->renewed(oracle, Y), before, sizeof before) == 0);

    /* On the line again. */
    driver->advance(oracle, "initialize_pairs");
    for (size_t i = 0; i < N; i++) {
        array[X][i] = initial_x(i);
        array[Y][i] = initial_y(i);
        array[Z][i] = initial_z(i);
    }
    driver->advance(oracle, "pair_energy");
    compute_pairs(UPWARD);
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 0);
    driver->destroy(oracle);
}

/* ---- stream_update ------------------------------------------------------------ */

static void test_stream(void)
{
    const struct numalab_driver *driver = driver_of("stream_update");
    struct numalab_oracle *oracle = driver->create(N);
    struct numalab_mismatch mismatch = {0};
    uint64_t state = 2;
    EXPECT(oracle != NULL);
    EXPECT(driver->bytes_moved(1000) == 32000 && driver->bytes_allocated(1000) == 8000);

    for (size_t i = 0; i < N; i++) {
        array[A][i] = initial_a;
        array[B][i] = initial_b(i);
        array[C][i] = initial_c(i);
    }
    driver->advance(oracle, "initialize_stream");
    EXPECT(count_mismatches(driver, oracle, 77, &mismatch) == 0);
    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        for (size_t i = 0; i < CHANGES; i++)
            change_element(driver, oracle, numalab_splitmix(&state), numalab_splitmix(&state));
        EXPECT(count_mismatches(driver, oracle, 77, &mismatch) == 0);
        driver->advance(oracle, "stream_update");
        for (size_t i = 0; i < N; i++) array[A][i] = array[B][i] + 3.0 * array[C][i];
        EXPECT(count_mismatches(driver, oracle, 77, &mismatch) == 0);
        for (size_t i = 0; i < N; i++) array[A][i] = fma(3.0, array[C][i], array[B][i]);
        EXPECT(count_mismatches(driver, oracle, N, &mismatch) == 0);
    }
    for (size_t k = 0; k < driver->array_count; k++)
        expect_mismatch(driver, oracle, k, DBL_EPSILON);

    /* Single precision is not enough. */
    for (size_t i = 0; i < N; i++)
        array[A][i] = (double)((float)array[B][i] + 3.0f * (float)array[C][i]);
    EXPECT(count_mismatches(driver, oracle, N, &mismatch) > N / 2);
    driver->destroy(oracle);
}

int main(void)
{
    EXPECT(driver_of("pair_energy") && driver_of("stream_update"));
    if (failures) return 1;
    test_pairs();
    test_stream();
    return failures > 0;
}
