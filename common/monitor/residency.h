/* The NUMA nodes that the pages of a worker's arrays are on. */
#ifndef NUMALAB_MONITOR_RESIDENCY_H
#define NUMALAB_MONITOR_RESIDENCY_H

#include <jansson.h>

#include "monitor/processes/worker_process.h"
#include "monitor/sample.h"

/* Describes for each array of a page or more which pages are sampled, and their NUMA nodes as run
 * lengths (record.h), -1 for an absent page. JSON's null where Linux does not report them, or
 * without memory. The caller owns the value. */
json_t *numalab_residency_describe(const struct numalab_worker *worker,
                                   const struct numalab_driver *driver,
                                   const struct numalab_sampling *sampling);

/* Returns how many of the pages that hold these bytes are on each NUMA node, as a list of [NUMA
 * node, pages], -1 for absent pages. bytes: 1 or more. JSON's null as above; the caller owns it. */
json_t *numalab_residency_by_node(const struct numalab_worker *worker, uint64_t address,
                                  size_t bytes);

#endif
