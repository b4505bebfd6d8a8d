/* Reads what Linux reports of a process in /proc/PID. */
#ifndef NUMALAB_MONITOR_PROC_H
#define NUMALAB_MONITOR_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

/* Opens /proc/PID/NAME, or a thread's /proc/PID/task/THREAD/NAME, to read. Returns NULL with errno
 * set if that fails; the caller closes the file. */
FILE *numalab_proc_open(pid_t pid, const char *name);
FILE *numalab_proc_open_thread(pid_t pid, pid_t thread, const char *name);

/* Returns the number, above 0, that a text such as a folder's name in /proc is; 0 if it is none. */
pid_t numalab_proc_number(const char *text);

/* Returns the CPU time of a process so far in seconds, with that of threads that have ended; 0 if
 * the process has ended. A running thread's time counts once it leaves its core, or at the next
 * tick. */
double numalab_proc_cpu_s(pid_t pid);

/* Returns a child of any thread of a process that is not among the known ones; 0 if there is none,
 * or Linux does not report children. Children that have ended and were not waited for count. */
pid_t numalab_proc_unknown_child(pid_t pid, const pid_t *known, size_t known_count);

/* Kills all children of this process and what they started, which become its own children as they
 * end (it is a subreaper), and waits for them. */
void numalab_proc_end_children(void);

/* Reads the first line of a file into line, without its end; a longer one is cut to line_bytes.
 * Returns line, or NULL if there is none. */
char *numalab_read_first_line(const char *path, char *line, size_t line_bytes);

#endif
