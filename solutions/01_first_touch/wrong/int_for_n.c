/* Wrong: n is an int. */
#include "first_touch.h"

void initialize(int n, float *a, float *b, float *c)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(int n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
