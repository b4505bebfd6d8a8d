/* What a worker is asked for; for requests.c, which asks one, and job.c, which asks all ranks. */
#ifndef NUMALAB_MONITOR_REQUESTS_H
#define NUMALAB_MONITOR_REQUESTS_H

#include "worker_process.h"

/* Notes n and the sizes of a driver's arrays; rank_count: of the worker's job. */
void numalab_worker_set_arrays(struct numalab_worker *worker, size_t n,
                               const struct numalab_driver *driver, size_t rank_count);

/* Whether a worker's arrays are where its kernel has made them, by a reply of a later phase: what
 * is looked at has to be what the phases use. True of arrays that the kit maps. */
bool numalab_worker_keeps_arrays(const struct numalab_worker *worker,
                                 const struct numalab_message *reply);

/* Requests for them, and for a phase, which the worker then is said to be doing. */
struct numalab_request numalab_allocate_request(const struct numalab_worker *worker,
                                                enum numalab_memory_kind kind);
struct numalab_request numalab_phase_request(struct numalab_worker *worker, const char *phase);

#endif
