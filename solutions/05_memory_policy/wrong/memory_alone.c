/* Lab 05: memory policy. */
#include "memory_policy.h"

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
    prefer(matrix, bytes, node);
}

/* The nearest NUMA node of memory alone, or the own one. */
static int node_without_processors(void)
{
    const int own = own_node();
    int nearest = own;
    struct bitmask *cpus = numa_allocate_cpumask();
    for (int node = 0; node <= numa_max_node(); node++) {
        numa_node_to_cpus(node, cpus);
        if (numa_bitmask_weight(cpus) > 0) continue;
        if (nearest == own ||
            numa_distance(own, node) < numa_distance(own, nearest))
            nearest = node;
    }
    numa_bitmask_free(cpus);
    return nearest;
}

void place_stream(void *stream, size_t bytes)
{
    prefer(stream, bytes, node_without_processors());
}
