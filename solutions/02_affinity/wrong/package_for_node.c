/* Wrong: takes the package for the NUMA node. */
#include "affinity.h"

#include <sched.h>
#include <stdio.h>

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
#pragma omp parallel
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
    *numa_node = -1;
    char path[96];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", *pu);
    FILE *file = fopen(path, "r");
    if (!file) return;
    if (fscanf(file, "%d", numa_node) != 1) *numa_node = -1;
    fclose(file);
}
