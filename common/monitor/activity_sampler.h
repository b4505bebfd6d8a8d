/* A roll call: which threads of a team are at work at a moment, when all pages of the arrays have
 * just been closed. A thread that works comes to a closed page at once, and waits there. One that
 * takes CPU time and does not come is busy with something else; one that sleeps, or gets no core,
 * tells nothing. */
#ifndef NUMALAB_MONITOR_ACTIVITY_SAMPLER_H
#define NUMALAB_MONITOR_ACTIVITY_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "threads.h"

struct numalab_thread_activity {
    pid_t id;
    size_t active_samples, other_samples; /* at how many moments it was seen so */
    double cpu_s;                         /* when it was called last */
    bool is_known;                        /* what it does since then */
};

struct numalab_activity_sampler {
    pid_t pid;
    struct numalab_thread_activity *entry; /* of each thread, in the order of the list */
    size_t count;
    bool is_pending; /* somebody's answer is waited for, */
    double end_s;    /* and until then */
};

/* Of the threads of a process. Returns 0 or -ENOMEM; the caller frees it. */
int numalab_activity_sampler_init(struct numalab_activity_sampler *sampler, pid_t pid,
                                  const struct numalab_threads *threads);
void numalab_activity_sampler_free(struct numalab_activity_sampler *sampler);

/* The process stands still, and its pages are about to be closed. */
void numalab_activity_sampler_begin(struct numalab_activity_sampler *sampler);

/* A thread waits at a closed page. */
void numalab_activity_sampler_note(struct numalab_activity_sampler *sampler, pid_t id);

/* Looks at those that have not come. Returns whether somebody is still waited for. */
bool numalab_activity_sampler_update(struct numalab_activity_sampler *sampler);

#endif
