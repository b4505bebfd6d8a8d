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

static int by_size(const void *one, const void *other)
{
    const double a = *(const double *)one, b = *(const double *)other;
    return (a > b) - (a < b);
}

static double median(size_t n, const double *value)
{
    double *sorted = malloc(n * sizeof *sorted);
    if (!sorted) return 0.0;
    for (size_t i = 0; i < n; i++) sorted[i] = value[i];
    qsort(sorted, n, sizeof *sorted, by_size);
    const double middle = 0.5 * (sorted[(n - 1) / 2] + sorted[n / 2]);
    free(sorted);
    return middle;
}

int decide(size_t n, const double *a_s, const double *b_s)
{
    const double ratio = median(n, a_s) / median(n, b_s);
    return ratio < 0.98 ? -1 : ratio > 1.02 ? 1 : 0;
}
