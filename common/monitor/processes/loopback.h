/* A network namespace of a launcher's own, without other users' programs. */
#ifndef NUMALAB_MONITOR_LOOPBACK_H
#define NUMALAB_MONITOR_LOOPBACK_H

#include <stdbool.h>

/* Moves this process to a new network that has the loopback interface only, with the same user and
 * group. For a process with one thread that is about to become a launcher: MPICH's launcher and
 * ranks listen on all interfaces. Returns false if Linux refuses; then nothing has changed. */
bool numalab_enter_loopback(void);

#endif
