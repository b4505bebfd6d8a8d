/* Makes requests to workers; for requests.c, which sends one, and job.c, which sends one to each
 * rank. */
#ifndef NUMALAB_MONITOR_REQUESTS_H
#define NUMALAB_MONITOR_REQUESTS_H

#include "worker_process.h"

/* Sets n and the sizes of the driver's arrays in a worker. rank_count: of its job. */
void numalab_worker_set_arrays(struct numalab_worker *worker, size_t n,
                               const struct numalab_driver *driver, size_t rank_count);

/* Returns whether the reply of a phase has the arrays at the addresses where the kernel mapped
 * them, since what is observed has to be what the phases use. True if numalab maps the arrays. */
bool numalab_worker_keeps_arrays(const struct numalab_worker *worker,
                                 const struct numalab_message *reply);

/* Return the request for the arrays, and that for a phase, which becomes worker->outcome.doing. */
struct numalab_request numalab_allocate_request(const struct numalab_worker *worker,
                                                enum numalab_memory_kind kind);
struct numalab_request numalab_phase_request(struct numalab_worker *worker, const char *phase);

#endif
