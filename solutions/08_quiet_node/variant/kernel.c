/* Lab 08, a variant, a solution.
 *
 * The shortest gap is what a reading takes; a sign test says whether one program
 * takes longer by more than what is not worth a word. */
#include "quiet_node.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* Whether a gap adds to the number of stops. */
static bool is_counted(bool is_stop, bool was_stop)
{
    return @stops.c@;
}

void noise(int64_t (*now_ns)(void), int64_t watch_ns, int64_t least_ns,
           int64_t *stops, int64_t *stolen_ns)
{
    const int64_t begin = now_ns();
    int64_t before = begin, shortest = INT64_MAX;
    bool was_stop = false;
    *stops = 0;
    *stolen_ns = 0;
    while (before - begin < watch_ns) {
        const int64_t now = now_ns(), gap = now - before;
        if (gap < shortest) shortest = gap;
        const bool is_stop = gap - shortest >= least_ns;
        *stops += is_counted(is_stop, was_stop);
        if (is_stop) *stolen_ns += gap - shortest;
        was_stop = is_stop;
        before = now;
    }
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

/* Whether a program takes longer than factor times the other. */
static bool is_longer(size_t n, const double *own_s, double factor,
                      const double *other_s)
{
    size_t wins = 0, losses = 0;
    double *ratio = malloc(n * sizeof *ratio);
    if (!ratio) return false;
    for (size_t i = 0; i < n; i++) {
        const double least_s = factor * other_s[i];
        wins += own_s[i] > least_s;
        losses += own_s[i] < least_s;
        ratio[i] = own_s[i] / least_s;
    }
    qsort(ratio, n, sizeof *ratio, by_size);
    const double median = 0.5 * (ratio[(n - 1) / 2] + ratio[n / 2]);
    free(ratio);
    return wins > losses && chance(losses, wins + losses) <= 0.01 &&
           median >= 1.02;
}

int decide(size_t n, const double *a_s, const double *b_s)
{
    if (is_longer(n, b_s, 1.0 + @worth.share@, a_s)) return -1;
    return is_longer(n, a_s, 1.0 + @other.share@, b_s);
}
