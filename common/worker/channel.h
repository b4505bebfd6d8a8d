/* The worker's end of its channel to the monitor. */
#ifndef NUMALAB_WORKER_CHANNEL_H
#define NUMALAB_WORKER_CHANNEL_H

/* The descriptor that the monitor left open, or for a rank of an MPI job one that is
 * connected to the monitor's socket and has said hello. Returns it or a negative errno. */
int numalab_channel_open(void);

/* Tells the monitor that this rank ends the job. */
void numalab_channel_leave(int exit_code);

#endif
