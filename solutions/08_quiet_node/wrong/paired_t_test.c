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

int decide(size_t n, const double *a_s, const double *b_s)
{
    double sum = 0.0, squares = 0.0;
    for (size_t i = 0; i < n; i++) sum += a_s[i] - b_s[i];
    const double mean = sum / (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = a_s[i] - b_s[i] - mean;
        squares += off * off;
    }
    const double error = sqrt(squares / (double)(n * (n - 1)));
    if (fabs(mean) <= 2.0 * error) return 0;
    return mean < 0.0 ? -1 : 1;
}
