/* Places threads on PUs and memory on a NUMA node. */
#ifndef NUMALAB_PROBE_PLACES_H
#define NUMALAB_PROBE_PLACES_H

#include "memory.h"

/* Bind the calling thread to the task's first PU, or each thread of OpenMP's team to one of them;
 * the team then has as many threads as the task has PUs. They do nothing if the task has none.
 * Return 0, or a negative errno: -EINVAL for a PU that this process may not use. */
int probe_bind_thread(const struct probe_task *task);
int probe_bind_team(const struct probe_task *task);

/* Prefers a NUMA node for pages that are written from now on: others are used once it is full.
 * Where this is forbidden, as in many containers, Linux places the pages as usual, which
 * probe_share_on_node shows. PROBE_ANY_NODE: nothing is changed. Returns 0 or a negative errno. */
int probe_prefer_node(const struct probe_memory *memory, int numa_node);

/* Adds to *pages the whole pages between two addresses, and to *local_pages those of them on the
 * NUMA node. Returns false if Linux does not report them. */
bool probe_count_pages(const void *first, const void *limit, int numa_node, size_t *pages,
                       size_t *local_pages);

/* Returns the share (0 to 1) of the pages of count mappings that are on the NUMA node; NaN if Linux
 * does not report them, or for PROBE_ANY_NODE. */
double probe_share_on_node(const struct probe_memory *memory, size_t count, int numa_node);

#endif
