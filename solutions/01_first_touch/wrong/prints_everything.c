/* Wrong: prints every element. */
#include "first_touch.h"

#include <stdio.h>

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
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] += b[i] * c[i];
        printf("i = %zu, a = %.10f, b = %.10f, c = %.10f, b * c = %.10f\n", i, a[i], b[i], c[i],
               b[i] * c[i]);
    }
}
