/* Ranks that wait let others run where there are more of them than cores.
 *
 * MPICH waits by calling UCX's progress function again and again. On a core that several
 * ranks share, a rank that waits in this way keeps the one that it waits for from running
 * until its time slice ends: a barrier of four ranks on two cores takes 8 ms instead of
 * 10 us. This definition comes before UCX's own; the monitor turns it on. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "rank_notes.h"

/* So many calls that bring nothing are too short to give the core away. */
enum { PATIENCE = 20 };

typedef unsigned progress_function(void *worker);

unsigned ucp_worker_progress(void *worker);

unsigned ucp_worker_progress(void *worker)
{
    static _Thread_local unsigned idle;
    static progress_function *real;
    if (!real) {
        void *symbol = dlsym(RTLD_NEXT, "ucp_worker_progress");
        if (!symbol) abort(); /* nobody could have called us */
        memcpy(&real, &symbol, sizeof real);
    }
    unsigned events = real(worker);
    if (events || !numalab_rank_yields())
        idle = 0;
    else if (++idle >= PATIENCE) {
        idle = 0;
        sched_yield();
    }
    return events;
}
