/* Each thread writes from the core of the one half a team further on, and is back in its own
 * place at the end of the loop: the same thread writes and uses a page, from two NUMA nodes. */
#define _GNU_SOURCE
#include "first_touch.h"

#include <omp.h>
#include <sched.h>
#include <unistd.h>

static cpu_set_t own;
#pragma omp threadprivate(own)

static void move(void)
{
    cpu_set_t set;
    const int pus = (int)sysconf(_SC_NPROCESSORS_ONLN);
    sched_getaffinity(0, sizeof own, &own);
    CPU_ZERO(&set);
    CPU_SET((sched_getcpu() + 1) % pus, &set); /* NUMA nodes have them in turn */
    sched_setaffinity(0, sizeof set, &set);
}

static void back(void)
{
    if (CPU_COUNT(&own)) sched_setaffinity(0, sizeof own, &own);
}

void initialize(size_t n, float *restrict a, float *restrict b, float *restrict c)
{
#pragma omp parallel
    {
        move();
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
