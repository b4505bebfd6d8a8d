/* Which processes a job is made of; for job.c. */
#ifndef NUMALAB_MONITOR_PROCESS_TREE_H
#define NUMALAB_MONITOR_PROCESS_TREE_H

#include "job.h"

/* Whether the launcher, a sandbox around it included, has started nothing but what starts ranks,
 * and the ranks. Waits a moment for what it may have started in passing. */
bool numalab_job_started_only_ranks(const struct numalab_job *job);

#endif
