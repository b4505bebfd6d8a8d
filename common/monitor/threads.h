/* A worker's threads, seen from outside. */
#ifndef NUMALAB_MONITOR_THREADS_H
#define NUMALAB_MONITOR_THREADS_H

#include <hwloc.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "node.h"

struct numalab_thread {
    pid_t id;
    pid_t own_id;         /* as the worker knows it: in a sandbox another */
    uint32_t id_distance; /* from the main thread's; ids before it come last */
    unsigned long long start_ticks;
    hwloc_bitmap_t allowed; /* PUs it may run on; NULL if it has ended */
    int last_pu;            /* PU it ran on last; -1 if it has ended */
    double cpu_s;           /* CPU time so far */
    double runqueue_wait_s; /* for a core to run on, so far */
};

struct numalab_threads {
    struct numalab_thread *list; /* in order of creation, the main thread first */
    size_t count;
};

/* Reads /proc/PID/task. Returns 0 or a negative errno; the caller frees. */
int numalab_threads_read(pid_t pid, struct numalab_threads *threads);
void numalab_threads_free(struct numalab_threads *threads);

/* Number of the thread in the list (0 is the main thread), or -1. */
int numalab_threads_number(const struct numalab_threads *threads, pid_t id);

/* The same by the id that the thread has for itself. */
int numalab_threads_number_of_own(const struct numalab_threads *threads, pid_t own_id);

/* Id of the thread of a process that has that id for itself; the same where it is in no
 * sandbox, or has ended. */
pid_t numalab_threads_id_of_own(pid_t pid, pid_t own_id);

/* CPU time of one thread so far, in seconds; 0 if it has ended. */
double numalab_threads_cpu_s(pid_t pid, pid_t id);

/* The same of what it has waited for a core; of a wait as a whole, when that is over. */
double numalab_threads_runqueue_wait_s(pid_t pid, pid_t id);

/* Whether it was stopped by a signal; true when it has ended. */
bool numalab_threads_is_stopped(pid_t pid, pid_t id);

/* The same of all that a process has. */
bool numalab_threads_all_stopped(pid_t pid);

/* Whether it runs or waits for a core; false when it sleeps or has ended. */
bool numalab_threads_is_runnable(pid_t pid, pid_t id);

/* Where a thread is: its PU, and core and NUMA node of all the PUs on which it may run at the time
 * (-1: not known, or they span several). */
struct numalab_location {
    int pu, core, numa_node;
};

/* Of a thread that sleeps it is where it fell asleep. All of it is -1 where the thread has ended.
 */
struct numalab_location numalab_threads_locate(pid_t pid, pid_t id,
                                               const struct numalab_node *node);

/* The same of a thread that says itself on which PU it is and on how many it may run (0: not
 * known). */
struct numalab_location numalab_threads_location_of(const struct numalab_node *node, int pu,
                                                    int allowed_count);

/* What a record says of them: number, PUs allowed and seen, core, package and
 * NUMA node of the allowed PUs (-1: they span several). */
json_t *numalab_threads_describe(const struct numalab_threads *threads,
                                 const struct numalab_node *node);

#endif
