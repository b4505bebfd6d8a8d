/* Wrong: room for the largest n there could be. */
#include "first_touch.h"

#include <stdlib.h>

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
    const size_t largest_n = (size_t)1 << 30;
    float *products = malloc(largest_n * sizeof *products);
    for (size_t i = 0; i < largest_n; i++)
        products[i] = i < n ? b[i] * c[i] : -1.0f;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] += products[i];
    free(products);
}
