/* A process of numalab's own with memory in two halves, without a student's code. One half is
 * written before something is done to the process, one afterwards, each by a team of threads that
 * is started for it. The second team then works without rest, but not before
 * numalab_load_process_continue: threads that work would keep others from writing. On a virtual
 * machine that had been used for minutes, a thread that came to a PU on which another worked waited
 * for half a minute. */
#ifndef NUMALAB_MONITOR_LOAD_PROCESS_H
#define NUMALAB_MONITOR_LOAD_PROCESS_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { NUMALAB_LOAD_HALVES = 2 };

struct numalab_load_plan {
    size_t thread_count;
    size_t pages_of_thread; /* small pages of each thread in each half */
    /* Whether thread i binds itself to the i-th PU and its memory to the i-th NUMA node, from the
     * first again after the last. Else threads bind nothing, and the first half is interleaved over
     * all NUMA nodes, as if the process had run for long. */
    bool is_greedy;
    hwloc_const_bitmap_t pus, numa_nodes; /* all of the machine; not owned */
};

struct numalab_load_board;

struct numalab_load_process {
    pid_t pid; /* 0: not started */
    size_t thread_count;
    uint64_t address;                 /* of the first half, in that process */
    size_t half_bytes;                /* of each half */
    struct numalab_load_board *board; /* shared with this process */
};

/* Starts the process. Returns 0 or a negative errno. In either case the caller ends it. */
int numalab_load_process_start(struct numalab_load_process *load,
                               const struct numalab_load_plan *plan);

/* Has a team of threads write the next half, and returns once it is written. Returns 0; -ECANCELED
 * when cancel_fd becomes readable, -ETIMEDOUT after limit_s, -ECHILD if the process has ended. */
int numalab_load_process_write_half(struct numalab_load_process *load, double limit_s,
                                    int cancel_fd);

/* Has the second team work without end. Call it once both halves are written. */
void numalab_load_process_continue(struct numalab_load_process *load);

/* Returns the address of a half, 0 or 1, in that process. */
uint64_t numalab_load_process_half(const struct numalab_load_process *load, size_t half);

/* Ends the process and frees what it shares; does nothing if it was not started. */
void numalab_load_process_end(struct numalab_load_process *load);

#endif
