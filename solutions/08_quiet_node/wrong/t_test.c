#include "quiet_node.h"

#include <math.h>
#include <stdlib.h>

void noise(int64_t (*now_ns)(void), int64_t watch_ns, int64_t least_ns,
           int64_t *stops, int64_t *stolen_ns)
{
    const int64_t begin = now_ns();
    int64_t before = begin, shortest = INT64_MAX;
    *stops = 0;
    *stolen_ns = 0;
    while (before - begin < watch_ns) {
        const int64_t now = now_ns(), gap = now - before;
        if (gap < shortest) shortest = gap;
        if (gap - shortest >= least_ns) {
            *stops += 1;
            *stolen_ns += gap - shortest;
        }
        before = now;
    }
}

static double mean(size_t n, const double *value)
{
    double total = 0.0;
    for (size_t i = 0; i < n; i++) total += value[i];
    return total / (double)n;
}

static double variance(size_t n, const double *value)
{
    const double middle = mean(n, value);
    double total = 0.0;
    for (size_t i = 0; i < n; i++) total += (value[i] - middle) * (value[i] - middle);
    return total / (double)(n - 1);
}

int decide(size_t n, const double *a_s, const double *b_s)
{
    const double a = mean(n, a_s), b = mean(n, b_s);
    const double error = sqrt((variance(n, a_s) + variance(n, b_s)) / (double)n);
    if (fabs(a - b) <= 2.0 * error) return 0;
    return a < b ? -1 : 1;
}
