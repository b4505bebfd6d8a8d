/* The processes that a job consists of. */
#ifndef NUMALAB_MONITOR_PROCESS_TREE_H
#define NUMALAB_MONITOR_PROCESS_TREE_H

#include "worker_process.h"

/* Returns whether the launcher, with a sandbox around it, has started only the ranks and processes
 * that started ranks. Waits up to 0.2 s for others, which may be short-lived, to end. True if Linux
 * does not report children. */
bool numalab_process_tree_has_only_ranks(pid_t launcher, const struct numalab_worker *rank,
                                         size_t rank_count);

#endif
