/* Where a kernel says that its threads count: blocks of counters, as the driver's array of slots
 * names them (driver.h, struct numalab_counting). */
#ifndef NUMALAB_MONITOR_SLOTS_H
#define NUMALAB_MONITOR_SLOTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/processes/worker_process.h"

enum { NUMALAB_MOST_COUNTERS = 64 }; /* of one thread */

/* One that counts, and whose counters could be read. */
struct numalab_slot {
    uint64_t first;
    int64_t counter[NUMALAB_MOST_COUNTERS];
};

/* What is seen of them. */
struct numalab_slots {
    size_t count, bad_lengths, unreadable; /* of threads that say that they count */
    size_t stack_count;                    /* ... in memory that is gone when the kernel returns */
    int64_t least;                         /* of what one of them holds in all its counters */
    bool sums_match;                       /* all add up to the results */
    uint64_t most_apart_bytes;             /* from the begin of one to that of the next */
    uint64_t shared_keys; /* counted in lines with counters of several, by all of these but the one
                             that counts most there */
    struct numalab_slot *slot; /* in the order of their addresses, kept of them */
    size_t kept;
};

/* Has the kernel name the slots of threads 0 to threads - 1 and reads them: of a worker that goes
 * on before and after it, and whose results are what the oracle says. Returns 0, or -1 with
 * worker->outcome set; numalab_slots_free afterwards in any case. */
int numalab_slots_read(struct numalab_worker *worker, const struct numalab_driver *driver,
                       const struct numalab_oracle *oracle, size_t threads, size_t line_bytes,
                       struct numalab_slots *slots);
void numalab_slots_free(struct numalab_slots *slots);

/* For a record; the caller owns it. */
json_t *numalab_slots_describe(const struct numalab_slots *slots);

#endif
