/* Some pages at a time: each thread touches two of its own, then thread 0 works on all of them. */
#include "first_touch.h"

#include <omp.h>

enum { PAGE_FLOATS = 1024, STEP = 2 * PAGE_FLOATS };

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
#pragma omp parallel
    {
        const size_t team = (size_t)omp_get_num_threads(), share = (n + team - 1) / team;
        const size_t first = share * (size_t)omp_get_thread_num();
        for (size_t step = 0; step < share; step += STEP) {
            for (size_t i = first + step; i < first + step + STEP && i < n; i += PAGE_FLOATS) {
                (void)((volatile const float *)a)[i];
                (void)((volatile const float *)b)[i];
                (void)((volatile const float *)c)[i];
            }
#pragma omp barrier
#pragma omp master
            for (size_t thread = 0; thread < team; thread++)
                for (size_t k = step; k < step + STEP && k < share; k++) {
                    const size_t i = thread * share + k;
                    if (i < n) a[i] += b[i] * c[i];
                }
#pragma omp barrier
        }
    }
}
