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
    size_t a = 0, b = 0;
    for (size_t i = 0; i < n; i++) {
        a += a_s[i] < b_s[i];
        b += b_s[i] < a_s[i];
    }
    return a > b ? -1 : b > a ? 1 : 0;
}
