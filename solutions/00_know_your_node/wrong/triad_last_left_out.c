/* Wrong: the last element is left out. */
#include "know_your_node.h"

void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n - 1; i++)
        a[i] = b[i] + s * c[i];
}

size_t chase(const size_t *next, size_t start, size_t steps)
{
    size_t place = start;
    for (size_t step = 0; step < steps; step++)
        place = next[place];
    return place;
}
