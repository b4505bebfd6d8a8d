/* Control groups (cgroup v2) with CPU sets on a virtual machine, where its first process has
 * mounted them. No other machine has that folder, and every function fails there. */
#ifndef NUMALAB_MONITOR_GROUPS_H
#define NUMALAB_MONITOR_GROUPS_H

#include <stddef.h>
#include <sys/types.h>

/* A setting of a group: its name in the monitor's options, and the group's file. */
struct numalab_group_key {
    const char *name, *file;
};

extern const struct numalab_group_key numalab_group_keys[];
extern const size_t numalab_group_key_count;

/* Each of the following returns 0 or a negative errno. name: of a group below the root group. */

/* Lets groups have CPU sets of their own. */
int numalab_groups_enable(void);

/* Makes a group without processes; does nothing if it exists. */
int numalab_group_make(const char *name);

/* Removes a group, which must have no processes. */
int numalab_group_remove(const char *name);

/* Writes to a file of the group, such as cpuset.cpus. Linux may keep the old value without an
 * error: read it again. */
int numalab_group_write(const char *name, const char *file, const char *value);

/* Reads the first line of a file of the group, without its end. text: has room for text_bytes. */
int numalab_group_read(const char *name, const char *file, char *text, size_t text_bytes);

/* Moves a process with all of its threads into the group. */
int numalab_group_take_in(const char *name, pid_t pid);

#endif
