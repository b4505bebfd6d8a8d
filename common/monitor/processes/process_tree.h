/* Which processes a job is made of; below job.h, which knows what follows from it. */
#ifndef NUMALAB_MONITOR_PROCESS_TREE_H
#define NUMALAB_MONITOR_PROCESS_TREE_H

#include "worker_process.h"

/* Whether the launcher, a sandbox around it included, has started nothing but what starts ranks,
 * and these ranks. Waits up to 0.2 s for what it may have started in passing. */
bool numalab_process_tree_has_only_ranks(pid_t launcher, const struct numalab_worker *rank,
                                         size_t rank_count);

#endif
