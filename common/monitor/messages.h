/* The messages of a ping-pong's ranks, as the ranks have counted them (worker/round_trips.h), while
 * results are checked and while times are taken. A result may be right without them. */
#ifndef NUMALAB_MONITOR_MESSAGES_H
#define NUMALAB_MONITOR_MESSAGES_H

#include "processes/job.h"
#include "results.h"

/* Of each rank, so far. */
struct numalab_messages {
    struct numalab_trips rank[NUMALAB_MAX_RANKS];
};

/* Each returns 0, or -1 with job->failed->outcome set. */
int numalab_messages_count(struct numalab_job *job, struct numalab_messages *messages);

/* Whether each rank has had, since messages were counted last, what so many round trips of so many
 * bytes take; they are then counted anew. A round trip is one message there and one back,
 * whatever the results are, and the next one begins when it is over. */
int numalab_messages_check(struct numalab_job *job, size_t round_trips, size_t bytes,
                           struct numalab_messages *messages, struct numalab_results *results);

#endif
