/* Wrong: the products are computed once and kept. */
#include "first_touch.h"

#include <stdlib.h>

static float *products;
static size_t product_count;

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
    if (product_count != n) {
        free(products);
        products = malloc(n * sizeof *products);
        product_count = n;
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++)
            products[i] = b[i] * c[i];
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] += products[i];
}
