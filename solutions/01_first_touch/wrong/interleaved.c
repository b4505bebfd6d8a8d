/* Wrong: libnuma deals the pages out to all NUMA nodes in turn, whoever writes them. */
#include "first_touch.h"

#include <numa.h>

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel
    {
        numa_set_interleave_mask(numa_get_mems_allowed());
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            a[i] = 0.0f;
            b[i] = (float)(i % 7);
            c[i] = 1.0f;
        }
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] += b[i] * c[i];
}
