/* Functions on a worker that only the files of this folder need. */
#ifndef NUMALAB_MONITOR_WORKER_INTERNAL_H
#define NUMALAB_MONITOR_WORKER_INTERNAL_H

#include "worker_process.h"

/* The interval at which workers are checked during a request: short enough to end a worker that
 * takes memory at the speed of page faults before the machine swaps, long enough not to show in
 * times. */
enum { NUMALAB_POLL_MS = 50 };

/* Starts a launcher, which has no channel to the monitor. command: ends with NULL. Returns 0, or -1
 * with worker->outcome set. */
int numalab_worker_launch(struct numalab_worker *worker, const char *const *command,
                          const struct numalab_limits *limits, int cancel_fd);

/* Reads what the worker has printed so far, up to its limit, and keeps the first bytes. */
void numalab_worker_drain_output(struct numalab_worker *worker);

/* Each checks one limit: printed bytes, resident memory, threads of a worker in a sandbox. Returns
 * 0, or -1 with the outcome set if the limit is passed. */
int numalab_worker_check_output(struct numalab_worker *worker);
int numalab_worker_check_memory(struct numalab_worker *worker);
int numalab_worker_check_threads(struct numalab_worker *worker);

/* Sends a signal by the worker's descriptor, since its pid may belong to another process once it
 * has ended. Returns as kill(2). */
int numalab_worker_signal(const struct numalab_worker *worker, int number);

/* The two parts of numalab_worker_continue: a check that the worker stood still, and SIGCONT. */
int numalab_worker_check_stopped(struct numalab_worker *worker);
int numalab_worker_wake(struct numalab_worker *worker);

/* Keeps a report that a worker sends before it ends: that it crashed, or as a rank that it leaves.
 * Returns whether message is such a report. */
bool numalab_worker_keep_report(struct numalab_worker *worker,
                                const struct numalab_message *message);

/* The same for all messages that wait in the channel. */
void numalab_worker_take_reports(struct numalab_worker *worker);

/* Sets the outcome of a worker that has ended, by how it ended; returns -1. */
int numalab_worker_note_death(struct numalab_worker *worker);

#endif
