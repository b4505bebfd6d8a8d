/* Wrong: hwloc's logical index counts in the order of the topology; Linux's number is os_index. */
#include "affinity.h"

#include <hwloc.h>
#include <numa.h>

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
    *pu = *numa_node = -1;
    if (hwloc_topology_init(&topology) < 0 || hwloc_topology_load(topology) < 0) return;
    hwloc_bitmap_t here = hwloc_bitmap_alloc();
    hwloc_get_last_cpu_location(topology, here, HWLOC_CPUBIND_THREAD);
    hwloc_obj_t found = hwloc_get_pu_obj_by_os_index(topology, (unsigned)hwloc_bitmap_first(here));
    *pu = (int)found->logical_index;
    *numa_node = numa_node_of_cpu((int)found->os_index);
    hwloc_bitmap_free(here);
    hwloc_topology_destroy(topology);
}
