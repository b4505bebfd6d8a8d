/* Wrong: only b is initialised in parallel. */
#include "first_touch.h"

void initialize(size_t n, float *a, float *b, float *c)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        c[i] = 1.0f;
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        b[i] = (float)(i % 7);
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
