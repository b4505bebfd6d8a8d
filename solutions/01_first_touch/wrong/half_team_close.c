/* Wrong: half of the team writes all pages, from one half of the machine. */
#include <omp.h>

#include "first_touch.h"

void initialize(size_t n, float *a, float *b, float *c)
{
    int half = (omp_get_max_threads() + 1) / 2;

#pragma omp parallel for schedule(static) num_threads(half) proc_bind(close)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
