/* A process of the kit's own which holds memory in two halves: one is written before something is
 * done to the process, one afterwards, each by a team of threads that is started for it; the second
 * team then works without rest, but not before it is told to. Threads that have written would keep
 * the others from it: on a virtual node that had been used for minutes, one that came to a PU on
 * which another worked waited for half a minute. No student's code is in it. */
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
    size_t pages_of_thread; /* in each half, of the system's small pages */
    /* It asks for one PU after the other, thread by thread, and for memory of one NUMA node after
     * the other. Else it asks for nothing, but that the first half is in turn on all NUMA nodes, as
     * if it had run for long. */
    bool is_greedy;
    hwloc_const_bitmap_t pus, numa_nodes; /* of the machine */
};

struct numalab_load_board;

struct numalab_load_process {
    pid_t pid; /* 0: it was not started */
    size_t thread_count;
    uint64_t address; /* of its memory ... */
    size_t half_bytes;
    struct numalab_load_board *board; /* which it shares with this process */
};

/* Returns 0 or a negative errno. What is started is to be ended. */
int numalab_load_process_start(struct numalab_load_process *load,
                               const struct numalab_load_plan *plan);

/* Has all its threads write the next half, and wait, after the last one. Returns 0; -ECANCELED when
 * cancel_fd becomes readable, -ETIMEDOUT after limit_s, -ECHILD where the process has ended. */
int numalab_load_process_write_half(struct numalab_load_process *load, double limit_s,
                                    int cancel_fd);

/* All threads work on without end, once all halves are written. */
void numalab_load_process_continue(struct numalab_load_process *load);

uint64_t numalab_load_process_half(const struct numalab_load_process *load, size_t half);

void numalab_load_process_end(struct numalab_load_process *load);

#endif
