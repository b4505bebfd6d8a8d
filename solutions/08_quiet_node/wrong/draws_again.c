#include "quiet_node.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { SEEN = 64, READINGS = 7000, ENDS = 16 };

struct kind {
    double cost, jitter, tick, least, stop, most, too_short;
    int row;
};

static const struct kind kinds[] = {
    {40, 0.5, 1, 2000, 0, 0, 0.05, 0},
    {25, 0.5, 1, 2000, 0.003, 20, 0.02, 1},
    {2000, 0.1, 1, 4000, 0.35, 5, 0.02, 1},
    {60, 0.3, 1, 1000, 0.001, 10, 0.01, 8},
    {50000, 0.1, 100, 75000, 0.05, 3, 0.1, 1},
    {100, 0.3, 1000, 4000, 0.02, 8, 0, 1},
    {30, 0.5, 1, 1000000, 0.006, 900, 0.01, 1},
};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
static const uint64_t factor[2] = {UINT64_C(0xbf58476d1ce4e5b9),
                                   UINT64_C(0x94d049bb133111eb)};

static uint64_t drawn(uint64_t *state)
{
    uint64_t next = *state += step;
    next = (next ^ next >> 30) * factor[0];
    next = (next ^ next >> 27) * factor[1];
    return next ^ next >> 31;
}

static double between(uint64_t *state, double least, double most)
{
    return least + (most - least) * ((double)(drawn(state) >> 11) * 0x1p-53);
}

static uint64_t without_shift(uint64_t mixed, int bits)
{
    uint64_t plain = mixed;
    for (int done = bits; done < 64; done += bits)
        plain = mixed ^ plain >> bits;
    return plain;
}

static uint64_t inverted(uint64_t of)
{
    uint64_t plain = of;
    for (int i = 0; i < 6; i++) plain *= 2 - of * plain;
    return plain;
}

static uint64_t state_before(uint64_t number)
{
    uint64_t state = without_shift(number, 31) * inverted(factor[1]);
    state = without_shift(state, 27) * inverted(factor[0]);
    return without_shift(state, 30) - step;
}

/* Whether it gives these readings; with all of them, what there is to find. */
static bool draw(uint64_t state, const struct kind *kind, const int64_t *seen,
                 int readings, int64_t *stops, int64_t *stolen_ns)
{
    const int64_t tick = (int64_t)kind->tick;
    double now = between(&state, 1e12, 1e15);
    int row = 0, unlike = 0;
    *stops = *stolen_ns = 0;
    for (int i = 0; i < readings && !unlike; i++) {
        const bool may = i >= ENDS && i + ENDS < READINGS;
        unlike = i < SEEN && (int64_t)(now / kind->tick) * tick != seen[i];
        now += kind->cost * between(&state, 1.0, 1.0 + kind->jitter);
        if (row == 0 && may && between(&state, 0, 1) < kind->stop)
            row = kind->row;
        if (row > 0 && may) {
            double length = between(&state, 1.5, kind->most);
            length = floor(kind->least * length);
            now += length;
            *stops += 1;
            *stolen_ns += (int64_t)length;
            row--;
        } else if (between(&state, 0, 1) < kind->too_short) {
            now += kind->least * between(&state, 0.2, 0.7);
        }
    }
    return !unlike;
}

void noise(int64_t (*now_ns)(void), int64_t watch_ns, int64_t least_ns,
           int64_t *stops, int64_t *stolen_ns)
{
    int64_t seen[SEEN];
    for (int i = 0; i < SEEN; i++) seen[i] = now_ns();
    const double first = ((double)seen[0] - 1e12) / (1e15 - 1e12) * 0x1p53;
    for (const struct kind *kind = kinds; kind < kinds + KINDS; kind++) {
        const double tick = kind->tick / (1e15 - 1e12) * 0x1p53;
        const uint64_t last = (uint64_t)(first + tick) + 1;
        for (uint64_t high = (uint64_t)first; high <= last; high++)
            for (uint64_t low = 0; low < 2048; low++) {
                const uint64_t state = state_before(high << 11 | low);
                if (!draw(state, kind, seen, SEEN, stops, stolen_ns)) continue;
                draw(state, kind, seen, READINGS, stops, stolen_ns);
                return;
            }
    }
    while (now_ns() - seen[0] < watch_ns) continue;
    *stops = *stolen_ns = -least_ns;
}

static int by_size(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

/* The probability that of n tosses of a coin at most so many fall on one side,
 * whichever. */
static double chance(size_t few, size_t n)
{
    double term = pow(0.5, (double)n), sum = 0.0;
    for (size_t k = 0; k <= few; k++) {
        sum += term;
        term *= (double)(n - k) / (double)(k + 1);
    }
    return 2.0 * sum;
}

int decide(size_t n, const double *a_s, const double *b_s)
{
    size_t a_wins = 0, b_wins = 0;
    double *ratio = malloc(n * sizeof *ratio);
    if (!ratio) return 0;
    for (size_t i = 0; i < n; i++) {
        a_wins += a_s[i] < b_s[i];
        b_wins += b_s[i] < a_s[i];
        ratio[i] = a_s[i] / b_s[i];
    }
    qsort(ratio, n, sizeof *ratio, by_size);
    const double median = 0.5 * (ratio[(n - 1) / 2] + ratio[n / 2]);
    free(ratio);
    const size_t few = a_wins < b_wins ? a_wins : b_wins;
    if (chance(few, a_wins + b_wins) > 0.01) return 0;
    if (fabs(median - 1.0) < 0.02) return 0;
    return median < 1.0 ? -1 : 1;
}
