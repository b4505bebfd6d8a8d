/* What Linux tells of a process: /proc/PID. */
#ifndef NUMALAB_MONITOR_PROC_H
#define NUMALAB_MONITOR_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens /proc/PID/NAME, or of one of its threads /proc/PID/task/THREAD/NAME, to read. Returns NULL
 * with errno set where it can't; the caller closes it. */
FILE *numalab_proc_open(pid_t pid, const char *name);
FILE *numalab_proc_open_thread(pid_t pid, pid_t thread, const char *name);

/* The number that text is, such as a folder's name in /proc; 0 where it is none. */
pid_t numalab_proc_number(const char *text);

/* CPU time of a process so far in seconds, of threads that have ended, too; 0 where it has ended.
 * What a thread takes shows once it leaves its core, or at the next tick. */
double numalab_proc_cpu_s(pid_t pid);

/* The first child of a process, of any of its threads, that is none of the known ones; 0 where
 * there is none, or the kernel does not tell. Those that have ended and were not waited for count,
 * too. */
pid_t numalab_proc_unknown_child(pid_t pid, const pid_t *known, size_t known_count);

/* Ends all children of this process, and theirs, which become its own as they end: whatever
 * workers' kernels and launchers may have started. */
void numalab_proc_end_children(void);

/* Reads the first line of a file, without its end. Returns line, or NULL where there is none. */
char *numalab_read_first_line(const char *path, char *line, size_t line_bytes);

#endif
