/* Kernels of one thread that access random places of a table. */
#ifndef NUMALAB_PROBE_TABLES_H
#define NUMALAB_PROBE_TABLES_H

#include "memory.h"

/* The cost of the first writes to all small pages of the table. */
struct probe_first_touch {
    double cpu_s;
    uint64_t page_faults;
};

/* Writes to each small page once, in random order: pages that are touched in order get memory in
 * order, and some processors hold several such pages in one entry of the TLB, so that this would
 * seem larger. Returns 0, or -ENOMEM if there is no memory for the order. */
int probe_first_touch(const struct probe_memory *table, const struct probe_task *task,
                      struct probe_first_touch *result);

/* Independent accesses: adds 1 to an 8-byte element at a random place, `steps` times in a stretch.
 * No address depends on a loaded value, so many accesses are under way at once. The table must hold
 * zeros; afterwards its sum must be the number of updates. Returns 0, or -EBADMSG after a message
 * on standard error for a wrong sum. */
int probe_update(const struct probe_memory *table, const struct probe_task *task,
                 struct probe_times *times);

/* Dependent accesses: 8-byte elements (links) hold the address of the next one, in one random cycle
 * through all, so that each has to be loaded before the next address is known. Each small page has
 * a link at the start of a random cache line; if the task has every line, each cache line has one.
 * A stretch has `steps` steps, or half a cycle more if these would be whole cycles, so that its end
 * shows whether all were made. Returns 0, -EBADMSG after a message on standard error if one ended
 * at another link, or -ENOMEM. */
int probe_chase(const struct probe_memory *table, const struct probe_task *task,
                struct probe_times *times);

#endif
