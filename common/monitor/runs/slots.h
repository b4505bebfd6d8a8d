/* The blocks of counters in which a kernel's threads count, as the kernel reports them in the
 * driver's array of slots (driver.h, struct numalab_counting). */
#ifndef NUMALAB_MONITOR_SLOTS_H
#define NUMALAB_MONITOR_SLOTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/processes/worker_process.h"

enum { NUMALAB_MOST_COUNTERS = 64 }; /* of one thread */

/* The block of a thread whose counters could be read. */
struct numalab_slot {
    uint64_t first; /* address in the worker */
    int64_t counter[NUMALAB_MOST_COUNTERS];
};

/* What was observed of all blocks. */
struct numalab_slots {
    size_t count, bad_lengths, unreadable; /* blocks reported, of another length, not readable */
    size_t stack_count;                    /* blocks on a stack, gone when the kernel returns */
    int64_t least;                         /* the smallest sum of one block's counters */
    bool sums_match;                       /* all blocks add up to the results */
    uint64_t most_apart_bytes;             /* between the beginnings of two neighbours, at most */
    uint64_t shared_keys; /* counts in lines with counters of several threads, without those of the
                             thread that counts most there */
    struct numalab_slot *slot; /* kept blocks, by ascending address */
    size_t kept;
};

/* Has the kernel report the slots of threads 0 to threads - 1, and reads them. The worker is not
 * stopped, before and after it, and its results must be the oracle's. Returns 0, or -1 with
 * worker->outcome set; in either case numalab_slots_free is to be called. */
int numalab_slots_read(struct numalab_worker *worker, const struct numalab_driver *driver,
                       const struct numalab_oracle *oracle, size_t threads, size_t line_bytes,
                       struct numalab_slots *slots);
void numalab_slots_free(struct numalab_slots *slots);

/* Describes the slots for a record; the caller owns the value. */
json_t *numalab_slots_describe(const struct numalab_slots *slots);

#endif
