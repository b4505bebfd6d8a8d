/* Wrong: one thread more in stream than the kit asks for. */
#include "affinity.h"

#include <numa.h>
#include <omp.h>
#include <sched.h>

void initialize(size_t n, double *a, double *b, double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
}

void stream(size_t n, double s, double *a, double *b, double *c)
{
#pragma omp parallel num_threads(omp_get_max_threads() + 1)
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) c[i] = a[i];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) b[i] = s * c[i];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
    }
}

void locate(int *pu, int *numa_node)
{
    *pu = sched_getcpu();
    *numa_node = numa_node_of_cpu(*pu);
}
