/* Who may start processes in the sandbox of an MPI job: its launcher, until all ranks have come,
 * and nobody any more then. Whether a process may be started is the monitor's to say
 * (seccomp_unotify(2)): a filter alone can't tell the rank that is to be started from what a rank
 * asks the launcher to start (MPI_Comm_spawn, or the same by hand). */
#ifndef NUMALAB_MONITOR_SPAWN_SUPERVISOR_H
#define NUMALAB_MONITOR_SPAWN_SUPERVISOR_H

struct numalab_spawn_supervisor;

/* Starts a thread that waits on the launcher's channel for the descriptor by which it asks, and
 * then allows what is asked. NULL without memory, or where it can't be started. The channel stays
 * the caller's, and open as long as the thread is there. */
struct numalab_spawn_supervisor *numalab_spawn_supervisor_start(int channel);

/* Ends it: from now on no process of the sandbox starts another. NULL: does nothing. */
void numalab_spawn_supervisor_stop(struct numalab_spawn_supervisor *supervisor);

#endif
