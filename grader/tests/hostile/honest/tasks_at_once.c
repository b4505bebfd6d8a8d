/* Each thread's block is a task that the thread itself runs at once, and the places of the team are
 * asked for in other words in each function. */
#include "first_touch.h"

#include <omp.h>

static size_t bound(size_t n, int part)
{
    return n * (size_t)part / (size_t)omp_get_num_threads();
}

void initialize(size_t n, float *restrict a, float *restrict b, float *restrict c)
{
#pragma omp parallel proc_bind(spread)
    {
        const int own = omp_get_thread_num();
        const size_t first = bound(n, own), end = bound(n, own + 1);
#pragma omp task if (0)
        for (size_t i = first; i < end; i++) {
            a[i] = 0.0f;
            b[i] = (float)(i % 7);
            c[i] = 1.0f;
        }
    }
}

void compute(size_t n, float *restrict a, const float *restrict b, const float *restrict c)
{
#pragma omp parallel proc_bind(close)
    {
        const int own = omp_get_thread_num();
        const size_t first = bound(n, own), end = bound(n, own + 1);
#pragma omp task if (0)
        for (size_t i = first; i < end; i++) a[i] += b[i] * c[i];
    }
}
