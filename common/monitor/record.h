/* Pieces of a record that more than one kind of run writes. Each returns a new
 * JSON value that the caller owns. Observations only: no median, no opinion. */
#ifndef NUMALAB_MONITOR_RECORD_H
#define NUMALAB_MONITOR_RECORD_H

#include <jansson.h>
#include <stdbool.h>

#include "monitor/processes/job.h"
#include "node.h"
#include "results.h"
#include "monitor/processes/worker_process.h"

/* A number, or "NaN", "Infinity", "-Infinity", which JSON has no numbers for. */
json_t *numalab_record_number(double value);

/* How a worker's part ended: status, and what is known of it. */
json_t *numalab_record_outcome(const struct numalab_worker *worker,
                               const struct numalab_driver *driver);

/* The same of a job that has ended: how many ranks there were, and which is to blame. */
json_t *numalab_record_job(const struct numalab_job *job, const struct numalab_driver *driver);

/* The threads of every rank; of ranks whose threads can't be listed, none. To be called
 * while they are there. */
json_t *numalab_record_ranks(const struct numalab_job *job, const struct numalab_node *node);

/* What comparing the results has found. */
json_t *numalab_record_results(const struct numalab_results *results,
                               const struct numalab_driver *driver);

/* A page-by-page list of small numbers, run-length coded as [number, count]. */
json_t *numalab_record_runs(const int *value, size_t count);

/* The same of any list: of how many items from one on are the same as it, and what one says. */
struct numalab_list {
    const void *items;
    size_t count;
    bool (*is_same)(const void *items, size_t a, size_t b);
    json_t *(*describe)(const void *items, size_t i);
};
json_t *numalab_record_list(const struct numalab_list *list);

#endif
