/* How a worker or a whole MPI job is kept apart from everything else: bubblewrap, or on a virtual
 * node the guest's own program (guest/sandbox.h), and inside it the kit's confine (confine/main.c),
 * which becomes the worker. */
#ifndef NUMALAB_MONITOR_SANDBOX_H
#define NUMALAB_MONITOR_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "worker_process.h"

enum { NUMALAB_MAX_SANDBOX_WORDS = 256 };

struct numalab_sandbox {
    size_t word_count; /* bubblewrap and its options: namespaces, what is seen, folders in memory */
    const char *word[NUMALAB_MAX_SANDBOX_WORDS];
    const char *confine; /* path of the program */
    bool has_user;       /* whether those inside are another user than the monitor, ... */
    uid_t user;          /* ... and which */
};

/* The command that runs `command` in a sandbox; ends with NULL, and the caller frees it, but
 * not its words. command: its last word is the worker program, the others are the launcher of
 * rank_count ranks; 0: a single worker. socket: what ranks connect to, or NULL. NULL without
 * memory. */
const char **numalab_sandbox_command(const struct numalab_limits *limits,
                                     const char *const *command, size_t rank_count,
                                     const char *listener_path);

/* How many threads a worker or all ranks together may have at once. */
size_t numalab_sandbox_most_threads(const struct numalab_limits *limits, size_t rank_count);

/* Whose processes are those inside. sandbox: NULL for none. */
uid_t numalab_sandbox_user(const struct numalab_sandbox *sandbox);

/* Whether an entry of the environment, such as "PATH=/bin", is one that a worker needs. */
bool numalab_sandbox_needs(const char *variable);

#endif
