/* Wrong: two chains side by side take half of the steps each: twice as fast, and elsewhere. */
#include "know_your_node.h"

void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

size_t chase(const size_t *next, size_t start, size_t steps)
{
    size_t place = start, other = next[start];
    for (size_t step = 0; step < steps / 2; step++) {
        place = next[place];
        other = next[other];
    }
    return steps % 2 ? other : place;
}
