/* Wrong: the arrays are cleared first, just to be safe. */
#include "first_touch.h"

#include <string.h>

void initialize(size_t n, float *a, float *b, float *c)
{
    memset(a, 0, n * sizeof *a);
    memset(b, 0, n * sizeof *b);
    memset(c, 0, n * sizeof *c);
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
    for (size_t i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
