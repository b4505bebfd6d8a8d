/* What Linux tells of a process: /proc/PID. */
#ifndef NUMALAB_MONITOR_PROC_H
#define NUMALAB_MONITOR_PROC_H

#include <stdio.h>
#include <sys/types.h>

/* Opens /proc/PID/NAME, or of one of its threads /proc/PID/task/THREAD/NAME, to read. Returns NULL
 * with errno set where it can't; the caller closes it. */
FILE *numalab_proc_open(pid_t pid, const char *name);
FILE *numalab_proc_open_thread(pid_t pid, pid_t thread, const char *name);

#endif
