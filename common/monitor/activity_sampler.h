/* Samples which threads of a team are active, at moments at which all pages of the arrays have just
 * been re-armed (page_rearm.h). A thread that works on arrays faults at once and waits; one that
 * uses CPU time and does not fault does other work; one that sleeps or gets no core counts as
 * neither. */
#ifndef NUMALAB_MONITOR_ACTIVITY_SAMPLER_H
#define NUMALAB_MONITOR_ACTIVITY_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "threads.h"

struct numalab_thread_activity {
    pid_t id;
    size_t active_samples; /* moments at which it used an array */
    size_t other_samples;  /* moments at which it used a core for something else */
    double cpu_s;          /* CPU time when the current sample began */
    bool is_known;         /* the current sample of it is complete */
};

struct numalab_activity_sampler {
    pid_t pid;
    struct numalab_thread_activity *entry; /* count of them, in the order of the threads' list */
    size_t count;
    bool is_pending; /* true while a thread has not yet responded ... */
    double end_s;    /* ... and until then, by numalab_now_s */
};

/* Makes an empty sampler for the threads of a process. Returns 0 or -ENOMEM; the caller frees it.
 */
int numalab_activity_sampler_init(struct numalab_activity_sampler *sampler, pid_t pid,
                                  const struct numalab_threads *threads);
void numalab_activity_sampler_free(struct numalab_activity_sampler *sampler);

/* Begins a sample. The process has to be stopped, and its pages about to be re-armed. */
void numalab_activity_sampler_begin(struct numalab_activity_sampler *sampler);

/* Counts a thread, which waits in a page fault, as active. Ids of other threads are ignored. */
void numalab_activity_sampler_note(struct numalab_activity_sampler *sampler, pid_t id);

/* Checks the threads that have not faulted. Returns whether one of them may still do so; after
 * 30 ms none is waited for. */
bool numalab_activity_sampler_update(struct numalab_activity_sampler *sampler);

#endif
