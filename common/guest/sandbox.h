/* How a worker, or a whole MPI job, is kept apart from everything else in a virtual node. The
 * guest's first program does that when it is called as a command; the monitor calls it where it
 * would call bubblewrap. */
#ifndef NUMALAB_GUEST_SANDBOX_H
#define NUMALAB_GUEST_SANDBOX_H

/* The control group of all that is kept apart, which the first process makes. */
#define NUMALAB_GUEST_GROUPS "/cgroup"
#define NUMALAB_GUEST_GROUP NUMALAB_GUEST_GROUPS "/apart"

/* Exit codes where a sandbox can't be made, and where it is not understood what is wanted. */
enum { NUMALAB_APART_FAILED = 125, NUMALAB_APART_MISUSED = 2 };

/* init --user UID:GID[:GID...] [--share-net] WORD ... -- COMMAND ...
 *
 * Runs the command as that user in namespaces of its own for processes, mounts, network and what
 * processes share, and ends all that it leaves behind. It begins in /tmp, and sees /proc, /sys and
 * a few devices, and what the words name, some of bubblewrap's:
 *
 *   --ro-bind FROM TO      a file or folder, to be read only
 *   --bind FROM TO         a folder that anybody may write to, made where it is missing
 *   --symlink TARGET PATH
 *   --tmpfs BYTES PATH     a folder in memory that it may write to; /tmp has to be one
 *   --cover PATH           an empty folder in the place of one that another word shows
 *   --remount-ro /         taken for granted
 *
 * With --share-net it has the guest's own network, and so those of a cluster's nodes.
 *
 * Returns the command's exit code, 128 and its number where a signal ended it, or
 * NUMALAB_APART_FAILED or NUMALAB_APART_MISUSED with the reason on standard error. */
int numalab_apart(int argc, char **argv);

/* Brings up the loopback device of this process's network; says on standard error where it can't.
 */
void numalab_raise_loopback(void);

#endif
