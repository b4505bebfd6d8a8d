/* The oracle of lab 09 finds what is wrong, and nothing else; what it takes for known is what a
 * search through all that a counter would show alike finds, and what the port has moved. */
#include <math.h>
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "simulated.h"
#include "tests/expect.h"

static int failures;

enum { N = 2000, SERIES = 200, MOVED = 0, TOLD = 1 };

__extension__ typedef unsigned __int128 wide;

static int64_t moments_ms[N + 1], bytes[N];
static uint64_t readings[N + 1], words[N];
static bool cleared[N];
static struct simulated drawn = {
    .n = N, .moments_ms = moments_ms, .readings = readings, .words = words, .cleared = cleared};

/* Bytes by trying one number of words after another that a counter of so many values would show
 * alike; UNKNOWN where none is possible, or more than one. */
static int64_t search_bytes(const struct port *port, uint64_t previous, uint64_t current,
                            wide can_bytes)
{
    const wide values = (wide)1 << port->width_bits;
    int64_t actual = UNKNOWN;
    size_t possible = 0;
    if (port->sticks && current == largest_count(port)) return UNKNOWN;
    for (wide to = current; to < (wide)current + 4 * values; to += values) {
        if (to < previous || 4 * (to - previous) > can_bytes) continue;
        if (port->sticks && to != current) continue;
        actual = (int64_t)(4 * (to - previous));
        possible++;
    }
    return possible == 1 ? actual : UNKNOWN;
}

/* What each kind of interval is met by; else nothing would be tested of it. */
static struct {
    size_t known, gone_around, cleared, once_more, stuck, quiet, maximal, negative_reading, untold;
} met;

static void note(size_t i, int64_t expected)
{
    const bool known = expected != UNKNOWN, is_smaller = readings[i + 1] < readings[i];
    met.known += known;
    met.gone_around += known && is_smaller;
    met.cleared += cleared[i];
    met.once_more += !known && !cleared[i] && !drawn.port.sticks;
    met.stuck += !known && !cleared[i] && drawn.port.sticks;
    met.quiet += words[i] == 0;
    met.maximal += words[i] == most_words(&drawn, i);
    met.negative_reading += readings[i] > INT64_MAX;
}

static void test_known_intervals(void)
{
    for (uint64_t series = 0; series < SERIES; series++) {
        bool all_unknown = true;
        simulate_told(&drawn, series * UINT64_C(0x2545f4914f6cdd1d));
        for (size_t i = 0; i < N; i++) {
            const wide can =
                (wide)drawn.port.most_bytes_per_ms * (wide)(moments_ms[i + 1] - moments_ms[i]);
            const int64_t expected = search_bytes(&drawn.port, readings[i], readings[i + 1], can);
            EXPECT(moments_ms[i + 1] > moments_ms[i]);
            EXPECT(readings[i + 1] <= largest_count(&drawn.port));
            EXPECT(words[i] <= most_words(&drawn, i));
            EXPECT(expected == UNKNOWN || expected == (int64_t)(4 * words[i]));
            EXPECT(expected == UNKNOWN || !cleared[i]);
            note(i, expected);
            all_unknown &= expected == UNKNOWN;
        }
        met.untold += all_unknown;
    }
    EXPECT(met.known > SERIES * N / 8 && met.known < SERIES * N * 7 / 8);
    EXPECT(met.gone_around > SERIES && met.cleared > SERIES && met.once_more > SERIES);
    EXPECT(met.stuck > SERIES && met.quiet > SERIES && met.maximal > SERIES);
    EXPECT(met.negative_reading > SERIES);
    EXPECT(met.untold > SERIES / 16);
}

static size_t compare_all(const struct numalab_driver *driver, struct numalab_oracle *oracle,
                          size_t array, const void *actual, struct numalab_mismatch *mismatch)
{
    return driver->compare(oracle, array, 0, driver->count(N, array, 0, 1), actual, mismatch);
}

/* As a kernel would, by the search. Returns the mean. */
static double compute_told(const struct numalab_driver *driver, struct numalab_oracle *oracle)
{
    const struct port *port = driver->renewed(oracle, TOLD_PORT);
    const int64_t *moments = driver->renewed(oracle, TOLD_MOMENTS);
    const uint64_t *counts = driver->renewed(oracle, TOLD_READINGS);
    double sum_bytes = 0, sum_s = 0;
    EXPECT(!driver->renewed(oracle, TOLD_BYTES) && !driver->renewed(oracle, TOLD_MEAN));
    for (size_t i = 0; i < N; i++) {
        const wide can = (wide)port->most_bytes_per_ms * (wide)(moments[i + 1] - moments[i]);
        bytes[i] = search_bytes(port, counts[i], counts[i + 1], can);
        if (bytes[i] == UNKNOWN) continue;
        sum_bytes += (double)bytes[i];
        sum_s += (double)(moments[i + 1] - moments[i]) / 1000;
    }
    return sum_s > 0 ? sum_bytes / sum_s : 0;
}

static void test_told(const struct numalab_driver *driver)
{
    struct numalab_mismatch mismatch = {0};
    struct numalab_oracle *oracle = driver->create(N);
    EXPECT(oracle != NULL);
    if (!oracle) return;
    driver->advance(oracle, driver->initialize_phase);
    for (uint64_t repetition = 0; repetition < 40; repetition++) {
        driver->renew(oracle, repetition * 77 + 5);
        const double mean = compute_told(driver, oracle);
        driver->advance(oracle, driver->compute_phase);
        EXPECT(compare_all(driver, oracle, TOLD_BYTES, bytes, &mismatch) == 0);
        EXPECT(compare_all(driver, oracle, TOLD_MEAN, &mean, &mismatch) == 0);
        for (size_t off = 0; off < 3; off++) {
            const double mismatches = off == 0 ? NAN : off == 1 ? mean * (1 + 1e-9) + 1e-9 : -1.0;
            EXPECT(compare_all(driver, oracle, TOLD_MEAN, &mismatches, &mismatch) == 1);
        }
        bytes[N - 1] += 1; /* one byte of one interval; and one that nobody can tell of */
        EXPECT(compare_all(driver, oracle, TOLD_BYTES, bytes, &mismatch) == 1);
        EXPECT(mismatch.array == TOLD_BYTES && mismatch.element == N - 1);
    }
    driver->destroy(oracle);
}

static void test_moved(const struct numalab_driver *driver)
{
    struct numalab_mismatch mismatch = {0};
    struct numalab_oracle *oracle = driver->create(N);
    size_t of_width[2] = {0, 0};
    EXPECT(oracle != NULL);
    if (!oracle) return;
    driver->advance(oracle, driver->initialize_phase);
    for (uint64_t repetition = 0; repetition < 40; repetition++) {
        driver->renew(oracle, repetition * 3 + 1);
        const int64_t *width_bits = driver->renewed(oracle, MOVED_WIDTH);
        const uint64_t *counts = driver->renewed(oracle, MOVED_READINGS);
        const wide values = (wide)1 << *width_bits;
        EXPECT(*width_bits == 32 || *width_bits == 64);
        of_width[*width_bits == 64]++;
        for (size_t i = 0; i < N; i++)
            bytes[i] = (int64_t)(4 * ((values + counts[i + 1] - counts[i]) % values));
        driver->advance(oracle, driver->compute_phase);
        EXPECT(compare_all(driver, oracle, MOVED_BYTES, bytes, &mismatch) == 0);
        bytes[repetition] -= 1;
        EXPECT(compare_all(driver, oracle, MOVED_BYTES, bytes, &mismatch) == 1);
        EXPECT(mismatch.element == repetition);
    }
    EXPECT(of_width[0] > 5 && of_width[1] > 5);
    driver->destroy(oracle);
}

/* Of wrong bytes the sentence that each deserves. */
static void expect_remark(const struct numalab_driver *driver, const struct numalab_oracle *oracle,
                          size_t array, size_t i, const void *actual, const char *text)
{
    char remark[NUMALAB_REMARK_BYTES] = "";
    const struct numalab_mismatch mismatch = {.array = array, .element = i};
    driver->remark(oracle, &mismatch, i, 1, actual, remark);
    EXPECT(strstr(remark, text) != NULL);
}

static void test_remarks(const struct numalab_driver *driver)
{
    struct numalab_oracle *oracle = driver->create(N);
    size_t tried = 0;
    EXPECT(oracle != NULL);
    if (!oracle) return;
    driver->advance(oracle, driver->initialize_phase);
    for (uint64_t random = 1; random < 20; random++) {
        driver->renew(oracle, random);
        const struct port *port = driver->renewed(oracle, TOLD_PORT);
        const uint64_t *counts = driver->renewed(oracle, TOLD_READINGS);
        const uint64_t most = largest_count(port);
        const double mean = compute_told(driver, oracle), per_ms = mean / 1000;
        driver->advance(oracle, driver->compute_phase);
        const double nothing = NAN;
        if (mean > 0)
            expect_remark(driver, oracle, TOLD_MEAN, 0, &per_ms, "per millisecond");
        else
            expect_remark(driver, oracle, TOLD_MEAN, 0, &nothing, "Of no interval there");
        for (size_t i = 0; i < N; i++) {
            const int64_t count = (int64_t)((counts[i + 1] - counts[i]) & most);
            const int64_t unknown = UNKNOWN, in_bytes = (int64_t)(4 * (uint64_t)count);
            const bool known = bytes[i] != UNKNOWN;
            if (known && count > 0)
                expect_remark(driver, oracle, TOLD_BYTES, i, &count, "words, not bytes");
            if (known) expect_remark(driver, oracle, TOLD_BYTES, i, &unknown, "Only one number");
            const int64_t one_less = bytes[i] - 4;
            if (known && counts[i + 1] < counts[i] && bytes[i] > 100)
                expect_remark(driver, oracle, TOLD_BYTES, i, &one_less, "One count off");
            if (!known && port->sticks && counts[i + 1] == most)
                expect_remark(driver, oracle, TOLD_BYTES, i, &in_bytes, "stands at its end");
            if (!known && !port->sticks && counts[i + 1] >= counts[i])
                expect_remark(driver, oracle, TOLD_BYTES, i, &in_bytes, "once more around");
            tried++;
        }
    }
    EXPECT(tried > N);
    driver->destroy(oracle);
}

int main(void)
{
    test_known_intervals();
    test_moved(numalab_drivers[MOVED]);
    test_told(numalab_drivers[TOLD]);
    test_remarks(numalab_drivers[TOLD]);
    return failures > 0;
}
