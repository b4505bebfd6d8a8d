/* A job: one worker, or an MPI launcher and a worker for each rank that it starts.
 *
 * The ranks are no children of the monitor. Each connects to its socket and reports its rank; Linux
 * reports which process has connected. From then on a rank is a worker like any other, but that
 * only its parent learns how it ended. A rank reports a crash and a call of exit; one that ends in
 * another way can't be distinguished from those that the launcher then ends. Requests go to all
 * ranks at once. */
#ifndef NUMALAB_MONITOR_JOB_H
#define NUMALAB_MONITOR_JOB_H

#include "worker_process.h"

struct numalab_spawn_supervisor;

struct numalab_job {
    struct numalab_worker launcher; /* its pid is -1 if there is none */
    struct numalab_spawn_supervisor
        *supervisor;             /* of its sandbox, until all ranks have connected; or NULL */
    struct numalab_worker *rank; /* rank_count workers; the first has the output of all */
    size_t rank_count;
    int listener;                  /* the socket; -1 once all ranks have connected */
    char listener_path[64];        /* its path until then; afterwards empty */
    double elapsed_s;              /* of the last phase, until the last rank was done */
    bool has_only_ranks;           /* the launcher had started only ranks when all had connected */
    struct numalab_worker *failed; /* the worker whose outcome a -1 below is about; or NULL */
};

/* Each of the following returns 0, or -1 with job->failed->outcome set. After that only
 * numalab_job_end and numalab_job_free may be called. */

/* Starts one worker, a child of the monitor, as the only rank. */
int numalab_job_start_worker(struct numalab_job *job, const char *program,
                             const struct numalab_limits *limits, int cancel_fd);

/* Starts a launcher, and does not wait for its ranks. command: the launcher with its arguments and
 * the program that each rank runs, ending with NULL; rank_count: the number of ranks that it will
 * start, at most NUMALAB_MAX_RANKS. */
int numalab_job_launch(struct numalab_job *job, const char *const *command, size_t rank_count,
                       const struct numalab_limits *limits, int cancel_fd);

/* Waits until all ranks that were launched have connected; returns at once for a single worker. */
int numalab_job_connect(struct numalab_job *job);

/* Maps the arrays of a problem of size n, in each rank its share. If the kernel maps them, which
 * only a single worker's does, kind is ignored. */
int numalab_job_allocate(struct numalab_job *job, size_t n, const struct numalab_driver *driver,
                         enum numalab_memory_kind kind);

/* Runs a phase in all ranks at once and sets elapsed_s. */
int numalab_job_run(struct numalab_job *job, const char *phase);

/* The same for ranks that are stopped before and afterwards. The clock starts before any of them is
 * continued, and stops when all have been sent the signal to stop: none runs outside of that. */
int numalab_job_time(struct numalab_job *job, const char *phase);

/* Stop all threads of all ranks, and continue them. */
int numalab_job_stop(struct numalab_job *job);
int numalab_job_continue(struct numalab_job *job);

/* As numalab_worker_stop_again, numalab_worker_begin_standstill and
 * numalab_worker_check_standstill. */
int numalab_job_stop_again(struct numalab_job *job);
int numalab_job_begin_standstill(struct numalab_job *job);
int numalab_job_check_standstill(struct numalab_job *job);

/* Fails the job if a worker, a rank or the launcher has started processes that it should not. */
int numalab_job_check_processes(struct numalab_job *job);

/* Notes that a worker of the job has started a process; returns -1. */
int numalab_job_fail_forked(struct numalab_job *job, struct numalab_worker *worker);

/* Notes that a worker of the job has failed, as its outcome says; returns -1. */
int numalab_job_fail(struct numalab_job *job, struct numalab_worker *worker);

/* Notes that numalab itself failed at a step. error: negative errno. Returns -1. */
int numalab_job_kit_error(struct numalab_job *job, const char *doing, int error);

/* Kills the worker or the ranks without waiting. numalab_job_end is still to be called; killing
 * several jobs first makes ending them faster. */
void numalab_job_kill(struct numalab_job *job);

/* End the launcher and all ranks, whose outcomes and output stay until numalab_job_free. Both do
 * nothing for a job that is all zeros, and may be called again. */
void numalab_job_end(struct numalab_job *job);
void numalab_job_free(struct numalab_job *job);

#endif
