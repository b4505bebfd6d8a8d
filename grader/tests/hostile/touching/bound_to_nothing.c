/* Right but for its threads, which it lets run anywhere while they write: where their pages are is
 * luck. */
#define _GNU_SOURCE
#include "first_touch.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

static cpu_set_t own;
#pragma omp threadprivate(own)

static void leave(cpu_set_t *before)
{
    cpu_set_t all;
    sched_getaffinity(0, sizeof *before, before);
    CPU_ZERO(&all);
    for (int pu = 0; pu < CPU_SETSIZE; pu++) CPU_SET(pu, &all);
    sched_setaffinity(0, sizeof all, &all);
}

static void back(void)
{
    if (CPU_COUNT(&own)) sched_setaffinity(0, sizeof own, &own);
}

void initialize(size_t n, float *restrict a, float *restrict b, float *restrict c)
{
#pragma omp parallel
    {
        leave(&own);
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            a[i] = 0.0f;
            b[i] = (float)(i % 7);
            c[i] = 1.0f;
        }
    }
}

void compute(size_t n, float *restrict a, const float *restrict b, const float *restrict c)
{
#pragma omp parallel
    {
        back();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
    }
}
