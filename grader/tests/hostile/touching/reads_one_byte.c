/* Each thread reads a byte of each of its pages, then thread 0 computes alone. */
#include "first_touch.h"

enum { PAGE_FLOATS = 1024 };

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t page = 0; page < n / PAGE_FLOATS; page++) {
            const size_t i = page * PAGE_FLOATS;
            (void)((volatile const float *)a)[i];
            (void)((volatile const float *)b)[i];
            (void)((volatile const float *)c)[i];
        }
#pragma omp master
        for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
    }
}
