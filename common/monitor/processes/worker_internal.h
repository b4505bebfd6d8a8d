/* What the files of this folder share, and nobody else needs: a worker's state from inside. */
#ifndef NUMALAB_MONITOR_WORKER_INTERNAL_H
#define NUMALAB_MONITOR_WORKER_INTERNAL_H

#include "worker_process.h"

/* How often workers are looked at while something is waited for: often enough to end a worker
 * that eats memory at page fault speed before the machine swaps, rarely enough not to be seen in
 * a timing. */
enum { NUMALAB_POLL_MS = 50 };

/* Starts a launcher: a command that ends with NULL and talks to us on no channel. */
int numalab_worker_launch(struct numalab_worker *worker, const char *const *command,
                          const struct numalab_limits *limits, int cancel_fd);

/* Takes what was printed, as far as there is room and no more than is allowed. */
void numalab_worker_drain_output(struct numalab_worker *worker);

/* Each looks at one limit: what is printed, resident memory, threads of a worker in a sandbox.
 * Returns 0, or -1 where it is passed, with the outcome set. */
int numalab_worker_check_output(struct numalab_worker *worker);
int numalab_worker_check_memory(struct numalab_worker *worker);
int numalab_worker_check_threads(struct numalab_worker *worker);

/* Sends it a signal, by its descriptor: its number may be somebody else's once others have waited
 * for it. As kill(2). */
int numalab_worker_signal(const struct numalab_worker *worker, int number);

/* The two parts of numalab_worker_continue: whether who is to stand still does, and SIGCONT. */
int numalab_worker_check_stopped(struct numalab_worker *worker);
int numalab_worker_wake(struct numalab_worker *worker);

/* Keeps what a worker says before it ends: that it crashed, or as a rank that it leaves. Returns
 * whether message was such. */
bool numalab_worker_keep_report(struct numalab_worker *worker,
                                const struct numalab_message *message);

/* The same for all that waits in the channel. */
void numalab_worker_take_reports(struct numalab_worker *worker);

/* Finds out how a worker that has ended did so; returns -1. */
int numalab_worker_note_death(struct numalab_worker *worker);

#endif
