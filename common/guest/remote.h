/* How a command on one node of a cluster is started from another, as rsh does it: MPI's launcher
 * needs that. There is no password, since nobody else is on that network. */
#ifndef NUMALAB_GUEST_REMOTE_H
#define NUMALAB_GUEST_REMOTE_H

/* Under this name the guest's first program is the command that asks for it. */
#define NUMALAB_REMOTE "numalab-remote"

/* numalab-remote HOST COMMAND ...
 *
 * Runs the words of the command, with spaces between them, by the shell of a node that /etc/hosts
 * names, in this process's folder. Its output comes here, it has no input, and it is killed when
 * this process ends. Returns its exit code, 128 and the number of a signal that ended it, or
 * NUMALAB_REMOTE_FAILED with the reason on standard error. */
int numalab_remote(int argc, char **argv);

enum { NUMALAB_REMOTE_FAILED = 255 };

/* Where a node holds this file, whatever is started there from another one is kept apart: its
 * lines are the words of sandbox.h, without the command. So who can reach a node's network, and
 * may be nobody there, gets no more by it. */
#define NUMALAB_REMOTE_APART "/numalab/apart"

/* The first process's end: a socket on which it hears of such commands, or a negative errno. */
int numalab_remote_listen(void);

/* Takes one that has come: a process of its own runs it, and ends with it. */
void numalab_remote_accept(int listening);

#endif
