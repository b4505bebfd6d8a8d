/* An object file of 8 GiB. */
#include "first_touch.h"

char fills[1UL << 33] = {1};

void initialize(size_t n, float *a, float *b, float *c)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
    for (size_t i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
