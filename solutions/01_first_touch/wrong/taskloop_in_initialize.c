/* Wrong: tasks are done by whichever thread is free. */
#include "first_touch.h"

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel
#pragma omp single
#pragma omp taskloop grainsize(4096)
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
