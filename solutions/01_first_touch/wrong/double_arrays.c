/* Wrong: the arrays are of double precision. */
#include "first_touch.h"

void initialize(size_t n, double *a, double *b, double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0;
        b[i] = (double)(i % 7);
        c[i] = 1.0;
    }
}

void compute(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
