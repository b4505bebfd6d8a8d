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
    double cpu_s;          /* CPU time so far when the current sample began */
    bool is_known;         /* whether the current sample of this thread is complete */
};

struct numalab_activity_sampler {
    pid_t pid;
    struct numalab_thread_activity *entry; /* count entries, in the order of the threads' list */
    size_t count;
    bool is_pending; /* true while a thread has not yet responded ... */
    double end_s;    /* ... and until then, by numalab_now_s */
};

/* Makes a sampler for the threads of a process, without samples. Returns 0 or -ENOMEM; the caller
 * frees it. */
int numalab_activity_sampler_init(struct numalab_activity_sampler *sampler, pid_t pid,
                                  const struct numalab_threads *threads);
void numalab_activity_sampler_free(struct numalab_activity_sampler *sampler);

/* Begins a sample. Call it while the process is stopped, before its pages are re-armed. */
void numalab_activity_sampler_begin(struct numalab_activity_sampler *sampler);

/* Counts a thread that waits in a page fault as active. Ids of other threads are ignored. */
void numalab_activity_sampler_note(struct numalab_activity_sampler *sampler, pid_t id);

/* Counts threads that did not fault and used a core for something else. Returns whether one may
 * still fault; false from 30 ms after the sample's begin on. */
bool numalab_activity_sampler_update(struct numalab_activity_sampler *sampler);

#endif
