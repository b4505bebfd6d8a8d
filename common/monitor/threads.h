/* Reads the state of a worker's threads from outside. */
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
    pid_t own_id;         /* the id inside the worker, which is another one in a sandbox */
    uint32_t id_distance; /* from the main thread's id, modulo 2^32 */
    unsigned long long start_ticks; /* start time since boot */
    hwloc_bitmap_t allowed;         /* PUs it may run on; NULL if it has ended */
    int last_pu;                    /* PU it ran on last; -1 if it has ended */
    double cpu_s;                   /* CPU time so far */
    double runqueue_wait_s;         /* time so far that it waited for a core */
};

struct numalab_threads {
    struct numalab_thread *list; /* in order of creation, the main thread first */
    size_t count;
};

/* Reads /proc/PID/task. Returns 0 or a negative errno; the caller frees the list. */
int numalab_threads_read(pid_t pid, struct numalab_threads *threads);
void numalab_threads_free(struct numalab_threads *threads);

/* Returns the index of a thread in the list, 0 for the main thread; -1 if it is not in it. */
int numalab_threads_number(const struct numalab_threads *threads, pid_t id);

/* The same by the id that the thread has inside the worker. */
int numalab_threads_number_of_own(const struct numalab_threads *threads, pid_t own_id);

/* Returns the id of the thread that has own_id inside the process; own_id itself if the process is
 * in no sandbox, or there is no such thread. */
pid_t numalab_threads_id_of_own(pid_t pid, pid_t own_id);

/* Returns the CPU time of a thread so far, in seconds; 0 if it has ended. */
double numalab_threads_cpu_s(pid_t pid, pid_t id);

/* Returns the seconds so far that a thread waited for a core; a wait counts once it is over. 0 if
 * the thread has ended. */
double numalab_threads_runqueue_wait_s(pid_t pid, pid_t id);

/* Returns whether a thread is stopped by a signal, or has ended. */
bool numalab_threads_is_stopped(pid_t pid, pid_t id);

/* The same for all threads of a process. */
bool numalab_threads_all_stopped(pid_t pid);

/* Returns whether a thread runs or waits for a core; false if it sleeps or has ended. */
bool numalab_threads_is_runnable(pid_t pid, pid_t id);

/* Where a thread is: its PU, and the core and the NUMA node of all PUs on which it may run (-1: not
 * known, or they span several). */
struct numalab_location {
    int pu, core, numa_node;
};

/* Returns where a thread is; if it sleeps, where it was before. All is -1 if it has ended. */
struct numalab_location numalab_threads_locate(pid_t pid, pid_t id,
                                               const struct numalab_node *node);

/* The same for a thread that reports its PU and the number of PUs on which it may run (0: not
 * known). As many as a core has are taken for those of its core. */
struct numalab_location numalab_threads_location_of(const struct numalab_node *node, int pu,
                                                    int allowed_count);

/* Describes the threads for a record: the number of each, the allowed PUs, the last PU, and core,
 * package and NUMA node of the allowed PUs (-1: they span several). PUs that the machine does not
 * have are removed from the list's `allowed`. The caller owns the value. */
json_t *numalab_threads_describe(const struct numalab_threads *threads,
                                 const struct numalab_node *node);

#endif
