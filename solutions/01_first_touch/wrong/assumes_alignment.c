/* Wrong: the arrays start where vectors do. */
#include "first_touch.h"

typedef float vector __attribute__((vector_size(32), may_alias));

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
    vector *va = (vector *)a;
    const vector *vb = (const vector *)b, *vc = (const vector *)c;

#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n / 8; i++)
        va[i] += vb[i] * vc[i];
    for (size_t i = n / 8 * 8; i < n; i++)
        a[i] += b[i] * c[i];
}
