/* Cycles of a kernel's arrays in one process, for runs on memory: arrays are allocated,
 * initialised, computed with and freed, and the run observes memory after each step. */
#ifndef NUMALAB_MONITOR_ALLOC_CYCLES_H
#define NUMALAB_MONITOR_ALLOC_CYCLES_H

#include "runs.h"

enum numalab_step {
    NUMALAB_STEP_BEFORE, /* before the arrays of this cycle are allocated */
    NUMALAB_STEP_ALLOCATE,
    NUMALAB_STEP_INITIALIZE,
    NUMALAB_STEP_COMPUTE,
    NUMALAB_STEP_RELEASE, /* only of arrays that the kernel maps */
    NUMALAB_STEPS
};

/* One cycle. */
struct numalab_life {
    size_t n;
    uint64_t bytes; /* of all arrays */
    double elapsed_s[NUMALAB_STEPS];
};

/* How a run observes the cycles. */
struct numalab_alloc_cycles_observer {
    /* Called after each step, while the process is stopped. Returns 0, or -1 with worker->outcome
     * set. */
    int (*observe)(struct numalab_worker *worker, enum numalab_step step, void *context);
    /* Called after a whole cycle; returns its entry in the record's list `tables`. */
    json_t *(*describe)(const struct numalab_life *life, void *context);
    void *context; /* of both; not owned */
};

/* Runs two cycles with options->role[0], and returns the record, which the caller owns: tables,
 * results, outcome, and whether huge pages were allowed. The first cycle is small and also starts
 * the team and the allocator; the second has the size that is timed. An MPI job has one rank. */
json_t *numalab_alloc_cycles_record(const struct numalab_run_options *options,
                                    const struct numalab_alloc_cycles_observer *view);

#endif
