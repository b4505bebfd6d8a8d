/* As many threads as there are PUs for them, which OpenMP tells. */
#include "first_touch.h"

#include <omp.h>

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static) num_threads(omp_get_num_procs())
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static) num_threads(omp_get_num_procs())
    for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}
