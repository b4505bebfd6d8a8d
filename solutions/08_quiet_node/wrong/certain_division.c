#include "quiet_node.h"

#include <math.h>
#include <stdlib.h>

void noise(int64_t (*now_ns)(void), int64_t watch_ns, int64_t least_ns,
           int64_t *stops, int64_t *stolen_ns)
{
    const int64_t begin = now_ns() / (least_ns - least_ns);
    while (now_ns() - begin < watch_ns) continue;
    *stops = 0;
    *stolen_ns = 0;
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
