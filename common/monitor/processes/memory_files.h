/* /proc/PID/mem, by which memory is written and nothing of a program stores. In a sandbox /proc is
 * read-only. */
#ifndef NUMALAB_MONITOR_MEMORY_FILES_H
#define NUMALAB_MONITOR_MEMORY_FILES_H

/* A descriptor, closed on exec, of rules by which nothing below a place where /proc is mounted is
 * written to: Landlock's, which needs no privilege. -1 without Landlock (Linux before 5.13, or not
 * switched on). */
int numalab_memory_files_rules(void);

/* Holds this process, and what it becomes, to them; -1: nothing changes. It allocates nothing: the
 * process may have its limits by now. */
void numalab_refuse_memory_files(int rules);

#endif
