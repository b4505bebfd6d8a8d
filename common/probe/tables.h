/* Kernels that jump about in a table, one thread. */
#ifndef NUMALAB_PROBE_TABLES_H
#define NUMALAB_PROBE_TABLES_H

#include "memory.h"

/* What it took to write to all small pages of the table for the first time. */
struct probe_first_touch {
    double cpu_s;
    uint64_t page_faults;
};

/* Writes to each small page once, in random order: pages that are touched in order get memory in
 * order, and some processors hold several such pages in one entry of the TLB, which would show a
 * larger one. 0, or -ENOMEM where there is no room for the order. */
int probe_first_touch(const struct probe_memory *table, const struct probe_task *task,
                      struct probe_first_touch *result);

/* Independent: adds 1 to an 8-byte element at a random place, steps times in a stretch. No address
 * depends on what was loaded, so many are under way at once. The table has to hold zeros;
 * afterwards its sum has to be the number of updates. 0, or -EBADMSG for a wrong table, which is
 * told on standard error. */
int probe_update(const struct probe_memory *table, const struct probe_task *task,
                 struct probe_times *times);

/* Dependent: 8-byte elements hold the address of the next, in one random cycle through all; each
 * address has to be loaded before the next is known. In each small page one, at the start of a
 * random cache line; or one in each cache line, if the task has every line. A stretch has steps, or
 * half a cycle more where these would be whole cycles, so that where it ends tells whether all were
 * made. 0, -EBADMSG where one ended elsewhere, which is told on standard error, or -ENOMEM. */
int probe_chase(const struct probe_memory *table, const struct probe_task *task,
                struct probe_times *times);

#endif
