/* Requests to one worker or to all ranks of a job at once; for requests.c and job.c. */
#ifndef NUMALAB_MONITOR_REQUEST_LOOP_H
#define NUMALAB_MONITOR_REQUEST_LOOP_H

#include "worker_process.h"

/* One worker's part. */
struct numalab_request_exchange {
    struct numalab_worker *worker;
    struct numalab_request *request; /* its ticket is set */
    struct numalab_message *reply;   /* is filled */
    int *descriptor;                 /* may be NULL; else what came beside the reply, or -1 */
    /* The exchange's own; CPU time so far: at its start, and when it was looked at last. */
    bool is_done, channel_open;
    double first_cpu_s, cpu_s;
};

/* Sends all requests, at most NUMALAB_MAX_RANKS, and waits for all replies within the first
 * worker's limits. watch may be NULL. Each worker's time runs from the common start to
 * its own reply; workers that stand still go on behind the start, with their request waiting.
 * Returns 0, or -1 with *failed the index of a worker whose outcome is set. */
int numalab_exchange_requests(struct numalab_request_exchange *list, size_t count,
                              const struct numalab_watch *watch, size_t *failed);

#endif
