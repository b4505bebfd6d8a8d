/* A worker with one thread, whose kernel is called in turns with a team's. The CPU time that the
 * team takes more than one thread is what sharing the work costs: calls of the runtime, and threads
 * that wait by spinning, which CPU time alone does not distinguish from work. */
#ifndef NUMALAB_MONITOR_SINGLE_THREAD_H
#define NUMALAB_MONITOR_SINGLE_THREAD_H

#include "runs.h"

struct numalab_single_thread {
    struct numalab_role role; /* with variables for one thread; job refers to it */
    struct numalab_job job;
    size_t computes;   /* compute phases so far */
    double cpu_s;      /* CPU time of all its threads in these */
    double team_cpu_s; /* CPU time of the team's threads, which the caller adds up */
};

/* Starts the worker and initialises a problem of size n. A failure, then or later, becomes the
 * job's outcome and does not fail the run: after it the other functions do nothing. */
void numalab_single_thread_start(struct numalab_single_thread *single,
                                 const struct numalab_run_options *options, size_t n);

/* Runs one compute phase. */
void numalab_single_thread_run(struct numalab_single_thread *single,
                               const struct numalab_driver *driver);

/* Returns whether the run was requested to stop meanwhile. */
bool numalab_single_thread_is_cancelled(const struct numalab_single_thread *single);

/* Ends the worker and returns its part of the record, which the caller owns. Free it then. */
json_t *numalab_single_thread_describe(struct numalab_single_thread *single,
                                       const struct numalab_driver *driver);
void numalab_single_thread_free(struct numalab_single_thread *single);

#endif
