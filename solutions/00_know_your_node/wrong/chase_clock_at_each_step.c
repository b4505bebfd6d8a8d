/* Wrong: the clock is asked at each step, which takes longer than the load. */
#include "know_your_node.h"

#include <time.h>

static clock_t longest;

void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

size_t chase(const size_t *next, size_t start, size_t steps)
{
    size_t place = start;
    for (size_t step = 0; step < steps; step++) {
        const clock_t before = clock();
        place = next[place];
        const clock_t taken = clock() - before;
        if (taken > longest)
            longest = taken;
    }
    return place;
}
