/* Starts a command on one cluster node from another, as rsh does, which MPI's launcher needs. There
 * is no password, since that network has no other machines. */
#ifndef NUMALAB_GUEST_REMOTE_H
#define NUMALAB_GUEST_REMOTE_H

/* The name under which the guest's first program is that command. */
#define NUMALAB_REMOTE "numalab-remote"

/* numalab-remote HOST COMMAND ...
 *
 * Runs the words of the command, with spaces between them, by the shell of a node that /etc/hosts
 * names, in this process's working directory. Its output becomes this process's, it has no input,
 * and it is killed when this process ends. Returns its exit code, 128 plus the number of a signal
 * that ended it, or NUMALAB_REMOTE_FAILED with the reason on standard error. */
int numalab_remote(int argc, char **argv);

enum { NUMALAB_REMOTE_FAILED = 255 };

/* If a node has this file, all commands from other nodes run in a sandbox on it: its lines are the
 * words of sandbox.h, without the command. So access to a node's network gives no more rights on
 * it. */
#define NUMALAB_REMOTE_APART "/numalab/apart"

/* Returns a socket on which the first process listens for such commands, or a negative errno. */
int numalab_remote_listen(void);

/* Accepts one command, which a process of its own runs. listening: the socket. */
void numalab_remote_accept(int listening);

#endif
