/* A worker with one thread beside a team: the same kernel, called in turns with it. How much more
 * CPU time the team takes than one thread is what sharing the work costs: questions to the
 * runtime, and threads that wait by spinning, which CPU time alone takes for work. */
#ifndef NUMALAB_MONITOR_SINGLE_THREAD_H
#define NUMALAB_MONITOR_SINGLE_THREAD_H

#include "runs.h"

struct numalab_single_thread {
    struct numalab_role role; /* with what keeps it to one thread; job refers to it */
    struct numalab_job job;
    size_t computes;
    double cpu_s;      /* of all its threads in these */
    double team_cpu_s; /* of all threads of the team beside it, which the caller adds up */
};

/* Starts it and initialises a problem of size n. What goes wrong then and later is the job's
 * outcome, and no failure of the run: the other calls do nothing from there on. */
void numalab_single_thread_start(struct numalab_single_thread *single,
                                 const struct numalab_run_options *options, size_t n);

/* One compute phase. */
void numalab_single_thread_run(struct numalab_single_thread *single,
                               const struct numalab_driver *driver);

/* Whether the run was told to stop meanwhile. */
bool numalab_single_thread_is_cancelled(const struct numalab_single_thread *single);

/* CPU time of a process so far, in seconds, with that of threads which have ended; 0 where there
 * is none. */
double numalab_process_cpu_s(pid_t pid);

/* Ends it, and says what a record does; the caller owns that. Then free it. */
json_t *numalab_single_thread_describe(struct numalab_single_thread *single,
                                       const struct numalab_driver *driver);
void numalab_single_thread_free(struct numalab_single_thread *single);

#endif
