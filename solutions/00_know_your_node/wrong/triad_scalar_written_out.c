/* Wrong: 3 is written out where s belongs, as STREAM has it. */
#include "know_your_node.h"

void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c)
{
    (void)s;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}

size_t chase(const size_t *next, size_t start, size_t steps)
{
    size_t place = start;
    for (size_t step = 0; step < steps; step++)
        place = next[place];
    return place;
}
