/* The sandbox of a worker or a whole MPI job in a virtual machine. The guest's first program makes
 * it when it is called as a command; the monitor calls it in place of bubblewrap. */
#ifndef NUMALAB_GUEST_SANDBOX_H
#define NUMALAB_GUEST_SANDBOX_H

/* The control group of all sandboxes, which the first process makes. */
#define NUMALAB_GUEST_GROUPS "/cgroup"
#define NUMALAB_GUEST_GROUP NUMALAB_GUEST_GROUPS "/apart"

/* Exit codes if the sandbox can't be made, and for a wrong command line. */
enum { NUMALAB_APART_FAILED = 125, NUMALAB_APART_MISUSED = 2 };

/* init --user UID:GID[:GID...] [--share-net] WORD ... -- COMMAND ...
 *
 * Runs the command as that user in namespaces of its own for processes, mounts, network and IPC,
 * and kills all processes that it leaves behind. It starts in /tmp, and has /proc, /sys, a few
 * devices, and what the words name, which are some of bubblewrap's:
 *
 *   --ro-bind FROM TO      a file or folder, read-only
 *   --bind FROM TO         a folder that all users may write to, made if it is missing
 *   --symlink TARGET PATH
 *   --tmpfs BYTES PATH     a folder in memory that it may write to; /tmp has to be one
 *   --cover PATH           an empty folder in place of one that another word shows
 *   --remount-ro /         accepted; it is the case anyway
 *
 * With --share-net it has the guest's network, and so that of a cluster.
 *
 * Returns the command's exit code, 128 plus the number of a signal that ended it, or
 * NUMALAB_APART_FAILED or NUMALAB_APART_MISUSED with the reason on standard error. */
int numalab_apart(int argc, char **argv);

/* Brings up the loopback device of this process's network; reports a failure on standard error. */
void numalab_raise_loopback(void);

#endif
