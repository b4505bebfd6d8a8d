/* Wrong: every thread touches its pages, but only by reading them. */
#include "first_touch.h"

static volatile float touched;

void initialize(size_t n, float *a, float *b, float *c)
{
    float sum = 0.0f;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += a[i] + b[i] + c[i];
    touched = sum;
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
