/* A job: one worker, or an MPI launcher and a worker for each rank that it starts.
 *
 * The ranks are no children of the monitor. Each connects to its socket and says which rank
 * it is; the kernel tells which process has connected. From then on a rank is a worker like
 * any other, but for how it ended: that only its parent learns. It tells of a crash and of a
 * call of exit; a rank that vanishes in another way can't be told from those that the launcher
 * then ends. Requests go to all ranks at once. */
#ifndef NUMALAB_MONITOR_JOB_H
#define NUMALAB_MONITOR_JOB_H

#include "worker_process.h"

struct numalab_spawn_supervisor;

struct numalab_job {
    struct numalab_worker launcher; /* its pid is -1 where there is none */
    struct numalab_spawn_supervisor
        *supervisor;             /* of its sandbox, until all ranks have come; or NULL */
    struct numalab_worker *rank; /* the first has what any of them prints */
    size_t rank_count;
    int listener;                  /* -1 once all ranks have come */
    char listener_path[64];        /* to remove once they have; then empty */
    double elapsed_s;              /* of the last phase: until the last rank was done */
    bool has_only_ranks;           /* when all had come, their launcher had started nothing else */
    struct numalab_worker *failed; /* what a call below that returned -1 tells of; or NULL */
};

/* Each of the following returns 0, or -1 with job->failed->outcome set. After that only
 * numalab_job_end and numalab_job_free may be called. */

/* One worker, which is a child of ours, as the only rank. */
int numalab_job_start_worker(struct numalab_job *job, const char *program,
                             const struct numalab_limits *limits, int cancel_fd);

/* command: the launcher with its arguments and the program that each rank runs, ending with
 * NULL; rank_count: how many ranks it will start, at most NUMALAB_MAX_RANKS. Does not wait for
 * them. */
int numalab_job_launch(struct numalab_job *job, const char *const *command, size_t rank_count,
                       const struct numalab_limits *limits, int cancel_fd);

/* Returns when all ranks that were launched have said hello; of one worker at once. */
int numalab_job_connect(struct numalab_job *job);

/* Maps the arrays of a problem of size n: in each rank its own share. Where the kernel makes
 * the arrays of the one worker that there is, kind is of no account. */
int numalab_job_allocate(struct numalab_job *job, size_t n, const struct numalab_driver *driver,
                         enum numalab_memory_kind kind);

/* Runs a phase in all ranks at once and takes its time. */
int numalab_job_run(struct numalab_job *job, const char *phase);

/* The same of ranks that stand still, before and afterwards. The clock starts before any of them
 * goes on, and stops when all have been told to stop: nothing of theirs runs outside of it. */
int numalab_job_time(struct numalab_job *job, const char *phase);

/* Stops all threads of all ranks, and lets them go on. */
int numalab_job_stop(struct numalab_job *job);
int numalab_job_continue(struct numalab_job *job);

/* As numalab_worker_stop_again, numalab_worker_begin_standstill and
 * numalab_worker_check_standstill. */
int numalab_job_stop_again(struct numalab_job *job);
int numalab_job_begin_standstill(struct numalab_job *job);
int numalab_job_check_standstill(struct numalab_job *job);

/* Looks for processes that a worker, a rank or the launcher of ranks has started beside those that
 * it should have. */
int numalab_job_check_processes(struct numalab_job *job);

/* Notes that a worker of the job has started a process; returns -1. */
int numalab_job_fail_forked(struct numalab_job *job, struct numalab_worker *worker);

/* Notes that a worker of the job has failed, as its outcome says; returns -1. */
int numalab_job_fail(struct numalab_job *job, struct numalab_worker *worker);

/* Notes that the kit itself failed at a step; returns -1. */
int numalab_job_kit_error(struct numalab_job *job, const char *doing, int error);

/* Kills the worker or the ranks, and waits for nothing: numalab_job_end is still to be called, and
 * takes less long where several jobs go at once. */
void numalab_job_kill(struct numalab_job *job);

/* Ends the launcher and all ranks. Their outcomes, and what they printed, stay until they
 * are freed. Both do nothing for a job that is all zeros, and may be called again. */
void numalab_job_end(struct numalab_job *job);
void numalab_job_free(struct numalab_job *job);

#endif
