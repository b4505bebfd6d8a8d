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
