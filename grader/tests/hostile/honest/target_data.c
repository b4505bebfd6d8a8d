/* Target regions with data that go there and back, values of their own, and a wait. */
#include "first_touch.h"

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
    float factor = 1.0f;
    struct {
        double first, second;
        char third;
    } pair = {1.0, 2.0, 'x'};
#pragma omp target data map(tofrom : a[ : n]) map(to : b[ : n], c[ : n])
    {
#pragma omp target update to(a[ : n])
#pragma omp target nowait firstprivate(factor, pair) depend(inout : a[0])
        {
            factor = (float)pair.first;
            pair.second = pair.third == 'x' ? factor : 0.0f;
#pragma omp parallel for schedule(static)
            for (size_t i = 0; i < n; i++) a[i] += (float)pair.second * b[i] * c[i];
        }
#pragma omp taskwait
    }
    if (factor != 1.0f || pair.second != 2.0) a[0] = -1.0f; /* the region had its own */
}
