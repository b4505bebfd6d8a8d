/* Sends requests to one worker, or to all ranks of a job at once; for requests.c and job.c. */
#ifndef NUMALAB_MONITOR_REQUEST_LOOP_H
#define NUMALAB_MONITOR_REQUEST_LOOP_H

#include "worker_process.h"

/* A request to one worker and its reply. The caller sets the first four; none is owned. */
struct numalab_request_exchange {
    struct numalab_worker *worker;   /* required: it has been started */
    struct numalab_request *request; /* required: kind and what it needs; ticket, modes and
                                        line_bytes are set here */
    struct numalab_message *reply;   /* required: filled */
    int *descriptor; /* filled with the one that came with the reply, which the caller closes, or
                        -1. NULL: none is expected */
    /* The loop's own. */
    bool is_done, channel_open;
    double first_cpu_s, cpu_s; /* CPU time of the worker: at the start, and at the last check */
};

/* Sends all requests at once and waits for all replies.
 *
 * list: count of them, 1 to NUMALAB_MAX_RANKS. The first worker's limits hold for all.
 * watch: what to serve meanwhile, or NULL.
 * worker->elapsed_s: seconds from the common start to its own reply. Stopped workers are continued
 * at the start, when their request is there already.
 *
 * Returns 0, or -1 with *failed the index of the worker whose outcome is set. */
int numalab_exchange_requests(struct numalab_request_exchange *list, size_t count,
                              const struct numalab_watch *watch, size_t *failed);

#endif
