/* What a record says of NUMA nodes: those of hwloc, and those with PUs that it leaves out. */
#ifndef NUMALAB_MONITOR_NUMA_NODES_H
#define NUMALAB_MONITOR_NUMA_NODES_H

#include <jansson.h>

#include "node.h"

/* For each its number, the memory that this process may use, and whether it may use none of its
 * PUs. */
json_t *numalab_describe_numa_nodes(const struct numalab_node *node);

/* The SLIT as rows, in the order of that list, which is not always that of hwloc's matrix; null
 * where the system gives none. */
json_t *numalab_describe_distances(const struct numalab_node *node, const json_t *listed);

#endif
