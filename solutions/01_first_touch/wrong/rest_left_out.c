/* Wrong: n is divided evenly among the threads. */
#include "first_touch.h"

#include <omp.h>

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel
    {
        size_t share = n / (size_t)omp_get_num_threads();
        size_t first = share * (size_t)omp_get_thread_num();
        for (size_t i = first; i < first + share; i++) {
            a[i] = 0.0f;
            b[i] = (float)(i % 7);
            c[i] = 1.0f;
        }
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel
    {
        size_t share = n / (size_t)omp_get_num_threads();
        size_t first = share * (size_t)omp_get_thread_num();
        for (size_t i = first; i < first + share; i++)
            a[i] += b[i] * c[i];
    }
}
