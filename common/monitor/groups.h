/* Control groups (cgroup v2) of a virtual node with a controller for CPU sets, which its first
 * process has mounted. On no other machine is there a folder of that name, and nothing is done. */
#ifndef NUMALAB_MONITOR_GROUPS_H
#define NUMALAB_MONITOR_GROUPS_H

#include <stddef.h>
#include <sys/types.h>

/* What can be set of a group: as options name it, and its file. */
struct numalab_group_key {
    const char *name, *file;
};

extern const struct numalab_group_key numalab_group_keys[];
extern const size_t numalab_group_key_count;

/* Each returns 0 or a negative errno; name: of a group right below the first one. */

/* Lets groups have CPU sets of their own. */
int numalab_groups_enable(void);

/* A new group, in which nobody is; it may be there. */
int numalab_group_make(const char *name);

/* Takes it away; nobody may be in it. */
int numalab_group_remove(const char *name);

/* file: of the group, such as cpuset.cpus. Linux may keep what it had without an error: read it
 * again. */
int numalab_group_write(const char *name, const char *file, const char *value);

/* The file's text without the end of its line. */
int numalab_group_read(const char *name, const char *file, char *text, size_t text_bytes);

/* A process with all of its threads. */
int numalab_group_take_in(const char *name, pid_t pid);

#endif
