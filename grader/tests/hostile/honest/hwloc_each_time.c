/* Asks hwloc anew in each call, which takes milliseconds. */
#define _GNU_SOURCE
#include "affinity.h"

#include <hwloc.h>

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
    hwloc_topology_t topology;
    hwloc_topology_init(&topology);
    hwloc_topology_load(topology);
    hwloc_bitmap_t set = hwloc_bitmap_alloc(), nodes = hwloc_bitmap_alloc();
    hwloc_get_last_cpu_location(topology, set, HWLOC_CPUBIND_THREAD);
    hwloc_cpuset_to_nodeset(topology, set, nodes);
    *pu = hwloc_bitmap_first(set);
    *numa_node = hwloc_bitmap_first(nodes);
    hwloc_bitmap_free(set);
    hwloc_bitmap_free(nodes);
    hwloc_topology_destroy(topology);
}
