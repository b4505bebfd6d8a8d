/* On which PUs threads run, and on which NUMA node memory lives. */
#ifndef NUMALAB_PROBE_PLACES_H
#define NUMALAB_PROBE_PLACES_H

#include "memory.h"

/* Binds the calling thread, or each thread of OpenMP's team, which then has as many as the task has
 * PUs. Nothing where the task has none. 0, or a negative errno: -EINVAL for a PU that this process
 * may not use. */
int probe_bind_thread(const struct probe_task *task);
int probe_bind_team(const struct probe_task *task);

/* Pages that are written from now on come from this NUMA node while it has some left, and from
 * others then, or wherever Linux puts them where this is forbidden, as in many containers:
 * probe_share_on_node tells. PROBE_ANY_NODE: nothing is changed. 0 or a negative errno. */
int probe_prefer_node(const struct probe_memory *memory, int numa_node);

/* Adds the whole pages between two addresses, and those of them that live on the NUMA node. False
 * where the system does not tell. */
bool probe_count_pages(const void *first, const void *limit, int numa_node, size_t *pages,
                       size_t *local_pages);

/* Of count pieces of memory together: the share of pages on the NUMA node; NaN where the system
 * does not tell, or no node was named. */
double probe_share_on_node(const struct probe_memory *memory, size_t count, int numa_node);

#endif
