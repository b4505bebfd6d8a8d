/* The NUMA nodes in records: those of hwloc, and those with PUs that hwloc leaves out. */
#ifndef NUMALAB_MONITOR_NUMA_NODES_H
#define NUMALAB_MONITOR_NUMA_NODES_H

#include <jansson.h>

#include "node.h"

/* Returns a list with the number of each NUMA node, its memory, and whether this process may use
 * none of its PUs. The caller owns it. */
json_t *numalab_describe_numa_nodes(const struct numalab_node *node);

/* Returns the SLIT as rows in the order of that list, which is not always hwloc's; JSON's null if
 * there is none. The caller owns it. */
json_t *numalab_describe_distances(const struct numalab_node *node, const json_t *listed);

#endif
