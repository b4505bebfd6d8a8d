/* Lab 05: memory policy. */
#include "memory_policy.h"

#include <hwloc.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdint.h>
#include <unistd.h>

/* Of all pages that have any of these bytes: mbind takes whole pages only. It says
 * so where it can't do it, and then memory stays where its first touch puts it. */
static void set_policy(void *memory, size_t bytes, int policy,
                       const struct bitmask *nodes, unsigned flags)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = (uintptr_t)memory / page * page;
    const uintptr_t end = ((uintptr_t)memory + bytes + page - 1) / page * page;
    mbind((void *)begin, end - begin, policy, nodes->maskp, nodes->size + 1,
          flags);
}

/* A policy of one node. Preferred, and not bind: where the node is full, memory
 * comes from elsewhere. Pages that are there already move. */
static void prefer(void *memory, size_t bytes, int node)
{
    struct bitmask *nodes = numa_allocate_nodemask();
    numa_bitmask_setbit(nodes, (unsigned)node);
    set_policy(memory, bytes, MPOL_PREFERRED, nodes, MPOL_MF_MOVE);
    numa_bitmask_free(nodes);
}

static int own_node(void)
{
    return numa_node_of_cpu(sched_getcpu());
}

void place_table(void *table, size_t bytes)
{
    struct bitmask *nodes = numa_allocate_nodemask();
#pragma omp parallel
    {
        const int node = own_node();
#pragma omp critical
        numa_bitmask_setbit(nodes, (unsigned)node);
    }
    set_policy(table, bytes, MPOL_INTERLEAVE, nodes, 0);
    numa_bitmask_free(nodes);
}

void place_blocks(void *blocks, size_t bytes, int parts)
{
    /* Each thread knows best where it runs. */
#pragma omp parallel for num_threads(parts) schedule(static, 1)
    for (int i = 0; i < parts; i++) {
        const size_t begin = bytes / (size_t)parts * (size_t)i;
        const size_t end =
            i + 1 < parts ? bytes / (size_t)parts * ((size_t)i + 1) : bytes;
        prefer((char *)blocks + begin, end - begin, own_node());
    }
}

void hand_over(void *matrix, size_t bytes, int node)
{
    struct bitmask *to = numa_allocate_nodemask();
    numa_bitmask_setbit(to, (unsigned)node);
    numa_migrate_pages(0, numa_all_nodes_ptr, to);
    numa_bitmask_free(to);
    prefer(matrix, bytes, node);
}

/* NUMA node whose memory has the most bandwidth for the calling thread, or -1. */
static int fastest_node(void)
{
    hwloc_topology_t topology;
    hwloc_obj_t best = NULL;
    hwloc_uint64_t bandwidth;
    int node = -1;
    if (hwloc_topology_init(&topology) < 0) return -1;
    hwloc_bitmap_t pu = hwloc_bitmap_alloc();
    hwloc_bitmap_only(pu, (unsigned)sched_getcpu());
    struct hwloc_location from = {.type = HWLOC_LOCATION_TYPE_CPUSET,
                                  .location.cpuset = pu};
    if (hwloc_topology_load(topology) == 0 &&
        hwloc_memattr_get_best_target(topology, HWLOC_MEMATTR_ID_BANDWIDTH, &from,
                                      0, &best, &bandwidth) == 0)
        node = (int)best->os_index;
    hwloc_bitmap_free(pu);
    hwloc_topology_destroy(topology);
    return node;
}

void place_stream(void *stream, size_t bytes)
{
    const int node = fastest_node();
    prefer(stream, bytes, node >= 0 ? node : own_node());
}
