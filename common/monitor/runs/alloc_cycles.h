/* Lives of a kernel's arrays in one process: made, initialised, computed with, given back; and
 * something about memory looked at after each step. For runs that do that. */
#ifndef NUMALAB_MONITOR_ALLOC_CYCLES_H
#define NUMALAB_MONITOR_ALLOC_CYCLES_H

#include "runs.h"

enum numalab_step {
    NUMALAB_STEP_BEFORE, /* nothing of this life is there yet */
    NUMALAB_STEP_ALLOCATE,
    NUMALAB_STEP_INITIALIZE,
    NUMALAB_STEP_COMPUTE,
    NUMALAB_STEP_RELEASE, /* only of arrays that the kernel makes */
    NUMALAB_STEPS
};

struct numalab_life {
    size_t n;
    uint64_t bytes; /* of all arrays */
    double elapsed_s[NUMALAB_STEPS];
};

/* What a run sees of them. */
struct numalab_alloc_cycles_observer {
    /* After each step; the process stands still. Returns 0, or -1 with worker->outcome set. */
    int (*observe)(struct numalab_worker *worker, enum numalab_step step, void *context);
    /* Of a life that came to its end. */
    json_t *(*describe)(const struct numalab_life *life, void *context);
    void *context;
};

/* Two lives of the arrays of the one role, and the record: tables as described, results and
 * outcome. The first is small and also starts the team and the allocator, the second has the size
 * that is timed. Of an MPI job there is one rank. */
json_t *numalab_alloc_cycles_record(const struct numalab_run_options *options,
                                    const struct numalab_alloc_cycles_observer *view);

#endif
