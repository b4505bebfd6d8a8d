/* Lab 05: memory policy. */
#include "memory_policy.h"

#include <numa.h>
#include <omp.h>
#include <sched.h>

void place_table(void *table, size_t bytes)
{
    numa_interleave_memory(table, bytes, numa_all_nodes_ptr);
}

void place_blocks(void *blocks, size_t bytes, int parts)
{
    size_t part = bytes / (size_t)parts;
#pragma omp parallel num_threads(parts)
    {
        int me = omp_get_thread_num();
        numa_tonode_memory((char *)blocks + (size_t)me * part, part,
                           numa_node_of_cpu(sched_getcpu()));
    }
}

void hand_over(void *matrix, size_t bytes, int node)
{
    numa_tonode_memory(matrix, bytes, node);
}

void place_stream(void *stream, size_t bytes)
{
    numa_tonode_memory(stream, bytes, numa_node_of_cpu(sched_getcpu()));
}
