#include "quiet_node.h"

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
    double a = a_s[0], b = b_s[0];
    for (size_t i = 1; i < n; i++) {
        if (a_s[i] < a) a = a_s[i];
        if (b_s[i] < b) b = b_s[i];
    }
    return a < 0.98 * b ? -1 : b < 0.98 * a ? 1 : 0;
}
