#include "messages.h"

#include "job_results.h"

int numalab_messages_count(struct numalab_job *job, struct numalab_messages *messages)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        struct numalab_rank_notes notes;
        if (numalab_job_read_notes(job, i, &notes) < 0) return -1;
        messages->rank[i] = notes.trips;
    }
    return 0;
}

int numalab_messages_check(struct numalab_job *job, size_t round_trips, size_t bytes,
                           struct numalab_messages *messages, struct numalab_results *results)
{
    const struct numalab_messages before = *messages;
    if (numalab_messages_count(job, messages) < 0) return -1;
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct numalab_trips *then = &before.rank[i], *now = &messages->rank[i];
        const uint64_t seen = now->sent - then->sent + now->received - then->received;
        const uint64_t sent_bytes = now->sent_bytes - then->sent_bytes;
        if (seen < 2 * round_trips) {
            results->required_messages = 2 * round_trips;
            results->actual_messages = seen;
        } else if (sent_bytes < (uint64_t)round_trips * bytes) {
            results->required_bytes = (uint64_t)round_trips * bytes;
            results->actual_bytes = sent_bytes;
        } else if (now->ahead > then->ahead) {
            results->early_messages = now->ahead - then->ahead;
        }
    }
    return 0;
}
