/* Lab 08: a node that isn't quiet. Edit this file; README.md says what to do.
 *
 * noise and decide do what comes to mind first: they work with means. */
#include "quiet_node.h"

void noise(int64_t (*now_ns)(void), int64_t watch_ns, int64_t least_ns,
           int64_t *stops, int64_t *stolen_ns)
{
    *stops = 0;
    *stolen_ns = 0;
    if (watch_ns <= 0 || least_ns <= 0) return;
    const int64_t begin = now_ns();
    int64_t before = begin, readings = 0;
    while (before - begin < watch_ns) {
        const int64_t now = now_ns(), gap = now - before;
        readings++;
        const int64_t mean = (now - begin) / readings;
        if (gap > 2 * mean) {
            *stops += 1;
            *stolen_ns += gap - mean;
        }
        before = now;
    }
}

int decide(size_t n, const double *a_s, const double *b_s)
{
    double sum_a = 0.0, sum_b = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum_a += a_s[i];
        sum_b += b_s[i];
    }
    return sum_a < sum_b ? -1 : sum_a > sum_b ? 1 : 0;
}
