/* The worker's end of its channel to the monitor. */
#ifndef NUMALAB_WORKER_CHANNEL_H
#define NUMALAB_WORKER_CHANNEL_H

/* Returns the descriptor that the monitor left open; for a rank of an MPI job it connects to the
 * monitor's socket, sends NUMALAB_HELLO and redirects its output. Returns a negative errno if that
 * fails. */
int numalab_channel_open(void);

/* Reports to the monitor that this rank ends the job; does nothing in a worker that is no rank. */
void numalab_channel_leave(int exit_code);

#endif
