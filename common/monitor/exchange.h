/* Requests to one worker or to all ranks of a job at once; for worker_process.c and job.c. */
#ifndef NUMALAB_MONITOR_EXCHANGE_H
#define NUMALAB_MONITOR_EXCHANGE_H

#include "worker_process.h"

/* One worker's part. */
struct numalab_exchange {
    struct numalab_worker *worker;
    struct numalab_request *request; /* its ticket is set */
    struct numalab_message *reply;   /* is filled */
    int *descriptor;                 /* may be NULL; else what came beside the reply, or -1 */
    bool is_done, channel_open;      /* the exchange's own */
};

/* Sends all requests, at most NUMALAB_MAX_RANKS, and waits for all replies within the first
 * worker's time limit. watch may be NULL. Each worker's time runs from the common start to
 * its own reply. Returns 0, or -1 with *failed the index of a worker whose outcome is set. */
int numalab_exchange(struct numalab_exchange *list, size_t count,
                     const struct numalab_watch *watch, size_t *failed);

/* Starts a launcher: a command that ends with NULL and talks to us on no channel. */
int numalab_worker_launch(struct numalab_worker *worker, const char *const *command,
                          const struct numalab_limits *limits, int cancel_fd);

/* Takes what was printed; -1 where it is too much. */
int numalab_worker_check_output(struct numalab_worker *worker);

/* Finds out how a worker that has ended did so; returns -1. */
int numalab_worker_note_death(struct numalab_worker *worker);

/* Notes n and the sizes of a driver's arrays; rank_count: of the worker's job. */
void numalab_worker_set_arrays(struct numalab_worker *worker, size_t n,
                               const struct numalab_driver *driver, size_t rank_count);

/* Requests for them, and for a phase, which the worker then is said to be doing. */
struct numalab_request numalab_allocate_request(const struct numalab_worker *worker,
                                                enum numalab_memory_kind kind);
struct numalab_request numalab_phase_request(struct numalab_worker *worker, const char *phase);

#endif
