/* A network of a launcher's own, in which nobody else's programs are. */
#ifndef NUMALAB_MONITOR_LOOPBACK_H
#define NUMALAB_MONITOR_LOOPBACK_H

#include <stdbool.h>

/* Leaves the network for one that has the loopback interface alone, with the same user and group.
 * For a process with one thread that is about to become a launcher: MPICH's, and its ranks, listen
 * on all interfaces there are. Returns false where the system refuses, and nothing has changed. */
bool numalab_enter_loopback(void);

#endif
