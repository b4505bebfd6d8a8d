/* Refuses writes to /proc/PID/mem, which would change memory without a store that is noted. In a
 * sandbox /proc is read-only anyway. */
#ifndef NUMALAB_MONITOR_MEMORY_FILES_H
#define NUMALAB_MONITOR_MEMORY_FILES_H

/* Returns a descriptor, closed on exec, of Landlock rules, which need no privilege, by which
 * nothing below a place where /proc is mounted may be written to. -1 without Landlock (Linux before
 * 5.13, or not enabled). The caller closes it. */
int numalab_memory_files_rules(void);

/* Applies the rules to this process and what it executes; does nothing for -1. It allocates
 * nothing, since the process may already have its limits. */
void numalab_refuse_memory_files(int rules);

#endif
