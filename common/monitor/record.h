/* Parts of records that several kinds of run write. Each function returns a new JSON value that the
 * caller owns. Records hold observations only, no medians and no verdicts. */
#ifndef NUMALAB_MONITOR_RECORD_H
#define NUMALAB_MONITOR_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "monitor/processes/job.h"
#include "node.h"
#include "results.h"
#include "monitor/processes/worker_process.h"

/* Returns a number, or "NaN", "Infinity" or "-Infinity", for which JSON has no numbers. */
json_t *numalab_record_number(double value);

/* Describes how a worker's part ended: its status, and what is known of the cause. */
json_t *numalab_record_outcome(const struct numalab_worker *worker,
                               const struct numalab_driver *driver);

/* The same for a job that has ended, with the number of ranks and the rank that failed. */
json_t *numalab_record_job(const struct numalab_job *job, const struct numalab_driver *driver);

/* Describes the threads of every rank; none where they can't be listed. Call it while the ranks
 * exist. */
json_t *numalab_record_ranks(const struct numalab_job *job, const struct numalab_node *node);

/* Describes the comparison of results: counts, the first mismatch, and other defects. */
json_t *numalab_record_results(const struct numalab_results *results,
                               const struct numalab_driver *driver);

/* Returns count numbers, such as one per page, as a list of [number, length of its run]. */
json_t *numalab_record_runs(const int *value, size_t count);

/* The same for a list of any items. */
struct numalab_list {
    const void *items; /* of both functions; not owned */
    size_t count;
    bool (*is_same)(const void *items, size_t a, size_t b); /* whether items a and b are equal */
    json_t *(*describe)(const void *items, size_t i);       /* item i, in place of a number */
};
json_t *numalab_record_list(const struct numalab_list *list);

#endif
