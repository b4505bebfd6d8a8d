/* Where the pages of a worker's arrays live. */
#ifndef NUMALAB_MONITOR_RESIDENCY_H
#define NUMALAB_MONITOR_RESIDENCY_H

#include <jansson.h>

#include "monitor/processes/worker_process.h"
#include "monitor/sample.h"

/* What a record says: for each array of a page or more, the pages that are looked at and run-length
 * codes of their NUMA nodes, -1 of a page that is absent. JSON's null where the system does not
 * tell. The caller owns it. */
json_t *numalab_residency_describe(const struct numalab_worker *worker,
                                   const struct numalab_driver *driver,
                                   const struct numalab_sampling *sampling);

/* How many pages with any of these bytes live on each NUMA node: [node, pages], -1 for those that
 * are absent. JSON's null as above; the caller owns it. */
json_t *numalab_residency_by_node(const struct numalab_worker *worker, uint64_t address,
                                  size_t bytes);

#endif
