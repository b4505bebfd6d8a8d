/* System calls that a kernel in a sandbox may not make. */
#ifndef NUMALAB_REFUSED_CALLS_H
#define NUMALAB_REFUSED_CALLS_H

#include <stddef.h>

enum numalab_refusal {
    /* By SIGSYS: calls that no library makes, so that the student learns which call it was, and
     * where. Without a handler the signal ends the process. */
    NUMALAB_REFUSED_WITH_SIGNAL,
    /* The same, but allowed to ranks of a job, which copy large messages out of each other's
     * memory. They may not access their launcher's memory (confine/main.c). */
    NUMALAB_REFUSED_TO_WORKERS,
    /* The same, but allowed to the launcher of ranks, which starts them. */
    NUMALAB_REFUSED_BUT_TO_LAUNCHERS,
    /* By errno: EPERM, or ENOSYS, after which libraries use an older call. */
    NUMALAB_REFUSED_EPERM,
    NUMALAB_REFUSED_ENOSYS
};

struct numalab_refused_call {
    long number;
    const char *name;
    enum numalab_refusal refusal;
};

extern const struct numalab_refused_call numalab_refused_calls[];
extern const size_t numalab_refused_call_count;

/* Returns the name of a call by its number; NULL for a call that is not in the list. */
const char *numalab_refused_call_name(long number);

#endif
