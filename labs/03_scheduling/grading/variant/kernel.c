/* Lab 03, a variant: scheduling. Edit this file; README.md says what to do.
 *
 * The results are right, but chance says who works where. */
#include "scheduling.h"

void stream_update(size_t n, double *restrict a, const double *restrict b,
                   const double *restrict c)
{
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}
