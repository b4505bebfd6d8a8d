/* The sandbox of a worker or a whole MPI job: bubblewrap, or on a virtual machine the guest's own
 * program (guest/sandbox.h), and inside it numalab's confine (confine/main.c), which becomes the
 * worker. */
#ifndef NUMALAB_MONITOR_SANDBOX_H
#define NUMALAB_MONITOR_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "worker_process.h"

enum { NUMALAB_MAX_SANDBOX_WORDS = 256 };

struct numalab_sandbox {
    size_t word_count; /* bubblewrap and its options: namespaces, visible files, new folders */
    const char *word[NUMALAB_MAX_SANDBOX_WORDS]; /* not owned */
    const char *confine; /* path of the program; NULL: no sandbox. Not owned */
    bool has_user;       /* whether processes inside have another user than the monitor: ... */
    uid_t user;          /* ... this one */
};

/* Returns the command that runs `command` in the sandbox of limits; it ends with NULL, and the
 * caller frees it, but not its words. command: its last word is the worker program, the others are
 * the launcher of rank_count ranks; rank_count 0: a single worker. listener_path: the socket that
 * ranks connect to, or NULL. NULL without memory. */
const char **numalab_sandbox_command(const struct numalab_limits *limits,
                                     const char *const *command, size_t rank_count,
                                     const char *listener_path);

/* Returns the most threads that a worker, or all ranks together, may have at once. */
size_t numalab_sandbox_most_threads(const struct numalab_limits *limits, size_t rank_count);

/* Returns the user of the processes inside. sandbox: NULL for none. */
uid_t numalab_sandbox_user(const struct numalab_sandbox *sandbox);

/* Returns whether a worker needs an entry of the environment, such as "PATH=/bin". */
bool numalab_sandbox_needs(const char *variable);

#endif
