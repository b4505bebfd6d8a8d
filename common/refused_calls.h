/* System calls that a kernel in a sandbox may not make. */
#ifndef NUMALAB_REFUSED_CALLS_H
#define NUMALAB_REFUSED_CALLS_H

#include <stddef.h>

enum numalab_refusal {
    /* SIGSYS: what no library tries, so that the student learns which call it was, and where.
     * Without a handler it ends the process. */
    NUMALAB_REFUSED_WITH_SIGNAL,
    /* As above, but ranks of one job may: they copy large messages out of each other's memory.
     * They may not reach into their launcher's (confine/main.c). */
    NUMALAB_REFUSED_TO_WORKERS,
    /* As above, but for the launcher of ranks, which starts them. */
    NUMALAB_REFUSED_BUT_TO_LAUNCHERS,
    /* An errno of EPERM, or of ENOSYS where a library then takes the older way. */
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

/* Its name; NULL of a call that is not in the list. */
const char *numalab_refused_call_name(long number);

#endif
