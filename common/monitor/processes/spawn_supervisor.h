/* Decides which process may start others in the sandbox of an MPI job: its launcher, until all
 * ranks have connected, and none afterwards. A filter alone can't distinguish a rank from what a
 * rank has the launcher start (MPI_Comm_spawn, or the same by hand), so the filter asks the monitor
 * about each process (seccomp_unotify(2)). */
#ifndef NUMALAB_MONITOR_SPAWN_SUPERVISOR_H
#define NUMALAB_MONITOR_SPAWN_SUPERVISOR_H

struct numalab_spawn_supervisor;

/* Starts a thread that waits on the launcher's channel for the descriptor of its filter, and then
 * allows each process. channel: stays the caller's, and open until the supervisor is stopped.
 * Returns NULL without memory, or if no thread can be started. */
struct numalab_spawn_supervisor *numalab_spawn_supervisor_start(int channel);

/* Ends and frees it: from now on no process of the sandbox starts another. NULL: does nothing. */
void numalab_spawn_supervisor_stop(struct numalab_spawn_supervisor *supervisor);

#endif
