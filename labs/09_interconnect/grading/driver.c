/* Lab 09: ports whose counters are read, and what can be told of each interval.
 *
 * A series of readings is new in each repetition, of another port. Right is what the port has
 * moved, as simulated.h has drawn it, wherever the readings leave no other number that could be
 * meant. */
#include "numalab/driver.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "simulated.h"

enum { LARGEST_CHECK_N = 4099 };

/* Of sums of whole numbers below 2^53: in whatever order they are divided and multiplied. */
static const double relative_slack = 1e-12;

struct numalab_oracle {
    struct simulated series;
    bool is_told; /* of which kernel */
    int64_t *bytes;
    double mean_bytes_per_s;
};

static const struct numalab_array moved_arrays[] = {
    [MOVED_WIDTH] = {"width_bits", sizeof(int64_t)},
    [MOVED_READINGS] = {"readings", sizeof(uint64_t)},
    [MOVED_BYTES] = {"bytes", sizeof(int64_t)},
};

static const struct numalab_array told_arrays[] = {
    [TOLD_PORT] = {"port", sizeof(int64_t)},
    [TOLD_MOMENTS] = {"moments_ms", sizeof(int64_t)},
    [TOLD_READINGS] = {"readings", sizeof(uint64_t)},
    [TOLD_BYTES] = {"bytes", sizeof(int64_t)},
    [TOLD_MEAN] = {"mean_bytes_per_s", sizeof(double)},
};

static size_t moved_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    const size_t count[] = {[MOVED_WIDTH] = 1, [MOVED_READINGS] = n + 1, [MOVED_BYTES] = n};
    (void)rank;
    (void)ranks;
    return count[array];
}

static size_t told_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    const size_t count[] = {
        [TOLD_PORT] = PORT_FACTS, [TOLD_MOMENTS] = n + 1, [TOLD_READINGS] = n + 1,
        [TOLD_BYTES] = n,         [TOLD_MEAN] = 1,
    };
    (void)rank;
    (void)ranks;
    return count[array];
}

/* Some arithmetic per reading, and nobody takes its time. */
static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle->series.moments_ms);
    free(oracle->series.readings);
    free(oracle->series.words);
    free(oracle->series.cleared);
    free(oracle->bytes);
    free(oracle);
}

static struct numalab_oracle *create(size_t n, bool is_told)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->is_told = is_told;
    oracle->series.n = n;
    oracle->series.moments_ms = calloc(n + 1, sizeof *oracle->series.moments_ms);
    oracle->series.readings = calloc(n + 1, sizeof *oracle->series.readings);
    oracle->series.words = calloc(n, sizeof *oracle->series.words);
    oracle->series.cleared = calloc(n, sizeof *oracle->series.cleared);
    oracle->bytes = calloc(n, sizeof *oracle->bytes);
    if (oracle->series.moments_ms && oracle->series.readings && oracle->series.words &&
        oracle->series.cleared && oracle->bytes)
        return oracle;
    destroy(oracle);
    return NULL;
}

static struct numalab_oracle *moved_create(size_t n)
{
    return create(n, false);
}

static struct numalab_oracle *told_create(size_t n)
{
    return create(n, true);
}

/* Whether an interval's readings can mean what was moved there and no other number. */
static bool is_unambiguous(const struct simulated *series, size_t i)
{
    const uint64_t most = largest_count(&series->port), can = most_words(series, i);
    const uint64_t before = series->readings[i], after = series->readings[i + 1];
    if (series->cleared[i]) return false;
    if (series->port.sticks) return after != most;
    const uint64_t least = (after - before) & most;
    return can - least <= most;
}

static void solve(struct numalab_oracle *oracle)
{
    const struct simulated *series = &oracle->series;
    int64_t sum_bytes = 0, sum_ms = 0;
    for (size_t i = 0; i < series->n; i++) {
        oracle->bytes[i] = UNKNOWN;
        if (oracle->is_told && !is_unambiguous(series, i)) continue;
        oracle->bytes[i] = (int64_t)(series->words[i] * PORT_WORD_BYTES);
        if (!oracle->is_told) continue;
        sum_bytes += oracle->bytes[i];
        sum_ms += series->moments_ms[i + 1] - series->moments_ms[i];
    }
    oracle->mean_bytes_per_s = sum_ms ? 1000.0 * (double)sum_bytes / (double)sum_ms : 0.0;
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    struct simulated *series = &oracle->series;
    if (strcmp(phase, "moved") == 0 || strcmp(phase, "told") == 0) {
        solve(oracle);
        return;
    }
    series->port = initial_port;
    for (size_t i = 0; i <= series->n; i++) {
        series->moments_ms[i] = initial_moment_ms(i);
        series->readings[i] = initial_reading;
    }
    for (size_t i = 0; i < series->n; i++) oracle->bytes[i] = initial_bytes;
    oracle->mean_bytes_per_s = initial_mean;
}

static void renew(struct numalab_oracle *oracle, uint64_t random)
{
    if (oracle->is_told)
        simulate_told(&oracle->series, random);
    else
        simulate_moved(&oracle->series, random);
}

static const void *moved_held(const struct numalab_oracle *oracle, size_t array)
{
    const void *const held[] = {
        [MOVED_WIDTH] = &oracle->series.port.width_bits,
        [MOVED_READINGS] = oracle->series.readings,
        [MOVED_BYTES] = oracle->bytes,
    };
    return held[array];
}

static const void *told_held(const struct numalab_oracle *oracle, size_t array)
{
    const void *const held[] = {
        [TOLD_PORT] = &oracle->series.port,        [TOLD_MOMENTS] = oracle->series.moments_ms,
        [TOLD_READINGS] = oracle->series.readings, [TOLD_BYTES] = oracle->bytes,
        [TOLD_MEAN] = &oracle->mean_bytes_per_s,
    };
    return held[array];
}

static const void *moved_renewed(const struct numalab_oracle *oracle, size_t array)
{
    return array < MOVED_BYTES ? moved_held(oracle, array) : NULL;
}

static const void *told_renewed(const struct numalab_oracle *oracle, size_t array)
{
    return array < TOLD_BYTES ? told_held(oracle, array) : NULL;
}

static size_t compare_whole(size_t array, size_t first, size_t count, const int64_t *expected,
                            const int64_t *actual, struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++)
        if (actual[i] != expected[i] && mismatches++ == 0)
            *mismatch = numalab_make_signed_mismatch(array, first + i, expected[i], actual[i]);
    return mismatches;
}

static size_t moved_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                            size_t count, const void *actual, struct numalab_mismatch *mismatch)
{
    const int64_t *expected = moved_held(oracle, array);
    return compare_whole(array, first, count, expected + first, actual, mismatch);
}

static size_t told_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                           size_t count, const void *actual, struct numalab_mismatch *mismatch)
{
    if (array != TOLD_MEAN) {
        const int64_t *expected = told_held(oracle, array);
        return compare_whole(array, first, count, expected + first, actual, mismatch);
    }
    const double expected = oracle->mean_bytes_per_s, mean = *(const double *)actual;
    if (fabs(mean - expected) <= relative_slack * fabs(expected)) return 0; /* not so of NaN */
    *mismatch = (struct numalab_mismatch){array, first, expected, mean, "", ""};
    return 1;
}

/* ---- what a wrong number of bytes looks like ------------------------------------ */

static const char *counted_as(const struct simulated *series, size_t i, int64_t actual)
{
    const uint64_t before = series->readings[i], after = series->readings[i + 1];
    const uint64_t words = (after - before) & largest_count(&series->port);
    const uint64_t bytes = words * PORT_WORD_BYTES, value = (uint64_t)actual;
    const uint64_t off = value > bytes ? value - bytes : bytes - value;
    if (words == 0) return "";
    if (value == words) return "That is what the counter has counted: words, not bytes.";
    if (value == words * 4)
        return "That is 4 bytes per count, as InfiniBand has them, and this port does not.";
    if (value == words * 8) return "That is 8 bytes per count, and not a word of the link.";
    if (after < before && (value == 0 || value == (after - before) * PORT_WORD_BYTES))
        return "The counter has gone around there.";
    if (after < before && value == after * PORT_WORD_BYTES)
        return "That is what it has counted from 0 on; before, it went up to its end.";
    if (after < before && off == PORT_WORD_BYTES)
        return "One count off: after the largest value comes 0, which is a count.";
    if (bytes > INT64_C(1) << 20 && off < bytes >> 20)
        return "Nearly: the last bits are lost, as in a double, which has 53.";
    return "";
}

static const char *why_unknown(const struct simulated *series, size_t i)
{
    const uint64_t most = largest_count(&series->port);
    if (series->port.sticks && series->readings[i + 1] == most)
        return "It sticks, and stands at its end: it may have moved more.";
    if (series->port.sticks && series->readings[i] == most)
        return "It stood at its end until it was cleared: nobody knows when that was.";
    if (series->cleared[i] && series->port.sticks)
        return "A counter that sticks becomes smaller only where it is cleared.";
    if (series->cleared[i])
        return "The link can't have carried it around in that time: it was cleared.";
    return "In that time the link can have carried it once more around.";
}

static void remark_bytes(const struct simulated *series, size_t i, int64_t expected, int64_t actual,
                         char remark[NUMALAB_REMARK_BYTES])
{
    const char *what = counted_as(series, i, actual);
    if (expected == UNKNOWN && actual != UNKNOWN) what = why_unknown(series, i);
    if (expected != UNKNOWN && actual == UNKNOWN) what = "Only one number can be meant there.";
    snprintf(remark, NUMALAB_REMARK_BYTES, "%" PRId64 " bits, from %" PRIu64 " to %" PRIu64 ".%s%s",
             series->port.width_bits, series->readings[i], series->readings[i + 1],
             *what ? " " : "", what);
}

static void moved_remark(const struct numalab_oracle *oracle,
                         const struct numalab_mismatch *mismatch, size_t first, size_t count,
                         const void *actual, char remark[NUMALAB_REMARK_BYTES])
{
    const size_t i = mismatch->element;
    if (mismatch->array != MOVED_BYTES || i < first || i >= first + count) return;
    remark_bytes(&oracle->series, i, oracle->bytes[i], ((const int64_t *)actual)[i - first],
                 remark);
}

static void remark_mean(const struct numalab_oracle *oracle, double actual,
                        char remark[NUMALAB_REMARK_BYTES])
{
    const struct simulated *series = &oracle->series;
    const int64_t all_ms = series->moments_ms[series->n] - series->moments_ms[0];
    double sum_bytes = 0.0;
    for (size_t i = 0; i < series->n; i++)
        if (oracle->bytes[i] != UNKNOWN) sum_bytes += (double)oracle->bytes[i];
    const double of_all = 1000.0 * sum_bytes / (double)all_ms, mean = oracle->mean_bytes_per_s;
    if (mean > 0 && fabs(1000.0 * actual - mean) <= 1e-9 * mean)
        snprintf(remark, NUMALAB_REMARK_BYTES, "That is per millisecond.");
    else if (mean > 0 && fabs(actual - of_all) <= 1e-9 * of_all)
        snprintf(remark, NUMALAB_REMARK_BYTES,
                 "That divides by all of the time; of a part of it the bytes are not known.");
    else if (!(mean > 0) && actual != actual)
        snprintf(remark, NUMALAB_REMARK_BYTES, "Of no interval there the bytes are known.");
}

static void told_remark(const struct numalab_oracle *oracle,
                        const struct numalab_mismatch *mismatch, size_t first, size_t count,
                        const void *actual, char remark[NUMALAB_REMARK_BYTES])
{
    const size_t i = mismatch->element;
    if (i < first || i >= first + count) return;
    if (mismatch->array == TOLD_BYTES)
        remark_bytes(&oracle->series, i, oracle->bytes[i], ((const int64_t *)actual)[i - first],
                     remark);
    else if (mismatch->array == TOLD_MEAN)
        remark_mean(oracle, *(const double *)actual, remark);
}

static const struct numalab_driver moved_driver = {
    .lab = "09_interconnect",
    .part = "moved",
    .arrays = moved_arrays,
    .array_count = sizeof moved_arrays / sizeof moved_arrays[0],
    .count = moved_count,
    .initialize_phase = "initialize_moved",
    .compute_phase = "moved",
    .largest_check_n = LARGEST_CHECK_N,
    .bytes_moved = bytes_moved,
    .create = moved_create,
    .destroy = destroy,
    .advance = advance,
    .renew = renew,
    .renewed = moved_renewed,
    .compare = moved_compare,
    .remark = moved_remark,
};

static const struct numalab_driver told_driver = {
    .lab = "09_interconnect",
    .part = "told",
    .arrays = told_arrays,
    .array_count = sizeof told_arrays / sizeof told_arrays[0],
    .count = told_count,
    .initialize_phase = "initialize_told",
    .compute_phase = "told",
    .largest_check_n = LARGEST_CHECK_N,
    .bytes_moved = bytes_moved,
    .create = told_create,
    .destroy = destroy,
    .advance = advance,
    .renew = renew,
    .renewed = told_renewed,
    .compare = told_compare,
    .remark = told_remark,
};

const struct numalab_driver *const numalab_drivers[] = {&moved_driver, &told_driver, NULL};
