/* Outer threads spread over the machine, inner ones close to theirs, in both functions: a runtime
 * may start new inner threads each time, on the same cores. */
#include "first_touch.h"

#include <omp.h>

void initialize(size_t n, float *restrict a, float *restrict b, float *restrict c)
{
    omp_set_max_active_levels(2);
    const int outer = omp_get_max_threads() > 1 ? 2 : 1;
    const int inner = omp_get_max_threads() / outer;
#pragma omp parallel num_threads(outer) proc_bind(spread)
    {
        const size_t group = (size_t)omp_get_thread_num();
        const size_t first = n * group / (size_t)outer, end = n * (group + 1) / (size_t)outer;
#pragma omp parallel for schedule(static) num_threads(inner) proc_bind(close)
        for (size_t i = first; i < end; i++) {
            a[i] = 0.0f;
            b[i] = (float)(i % 7);
            c[i] = 1.0f;
        }
    }
}

void compute(size_t n, float *restrict a, const float *restrict b, const float *restrict c)
{
    const int outer = omp_get_max_threads() > 1 ? 2 : 1;
    const int inner = omp_get_max_threads() / outer;
#pragma omp parallel num_threads(outer) proc_bind(spread)
    {
        const size_t group = (size_t)omp_get_thread_num();
        const size_t first = n * group / (size_t)outer, end = n * (group + 1) / (size_t)outer;
#pragma omp parallel for schedule(static) num_threads(inner) proc_bind(close)
        for (size_t i = first; i < end; i++) a[i] += b[i] * c[i];
    }
}
