/* The messages of a ping-pong's ranks, as the ranks count them (worker/round_trips.h) while results
 * are checked and while times are taken, since results may be correct without them. */
#ifndef NUMALAB_MONITOR_MESSAGES_H
#define NUMALAB_MONITOR_MESSAGES_H

#include "processes/job.h"
#include "results.h"

/* The messages of each rank so far. */
struct numalab_messages {
    struct numalab_trips rank[NUMALAB_MAX_RANKS];
};

/* Fills messages. Returns 0, or -1 with job->failed->outcome set. */
int numalab_messages_count(struct numalab_job *job, struct numalab_messages *messages);

/* Counts again, and notes in results a rank that since the last count (messages) had fewer messages
 * than round_trips take, sent less than round_trips times bytes, or sent before it was due. A round
 * trip is one message there and one back; the next one begins when it is over. Returns as above. */
int numalab_messages_check(struct numalab_job *job, size_t round_trips, size_t bytes,
                           struct numalab_messages *messages, struct numalab_results *results);

#endif
