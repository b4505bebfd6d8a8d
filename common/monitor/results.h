/* Reads results out of a stopped worker and compares them with the oracle; changes inputs between
 * repetitions. Functions that get a worker return 0, or -1 with worker->outcome set; mismatches are
 * no error, and noted in results. */
#ifndef NUMALAB_MONITOR_RESULTS_H
#define NUMALAB_MONITOR_RESULTS_H

#include <stdbool.h>

#include "random.h"
#include "monitor/processes/worker_process.h"

/* The result of all comparisons so far; all zeros at the beginning. */
struct numalab_results {
    uint64_t checked; /* elements compared */
    uint64_t mismatches;
    /* If mismatches > 0: the first one. */
    struct numalab_mismatch first_mismatch;
    size_t mismatch_rank, mismatch_n;
    const char *mismatch_row;                   /* the row's name; NULL: none */
    char mismatch_remark[NUMALAB_REMARK_BYTES]; /* may be empty */
    const char *mismatch_phase;
    size_t mismatch_repetition;                  /* number of compute phases before this one */
    uint64_t required_messages, actual_messages; /* of a rank that had too few; else 0 */
    uint64_t required_bytes, actual_bytes;       /* of a rank that sent too little; else 0 */
    uint64_t early_messages;                     /* that a rank sent before they were due */
    struct numalab_request_note requests;        /* the first fault of requests; count 0: none */
    enum numalab_request_fault request_fault;
    size_t requests_rank;
    const char *requests_phase;
    bool is_replaced;        /* an array is not the memory that it was: ... */
    size_t replaced_array;   /* ... this one */
    bool wrote_before_array; /* memory before an array was changed ... */
    bool wrote_after_array;  /* ... or behind it, in its last page: ... */
    size_t damaged_array;    /* ... this one */
};

/* Fills the arrays with bytes 0xff (NaN for floating point), and the other bytes of their first and
 * last pages with NUMALAB_GUARD_PATTERN. */
int numalab_results_prepare(struct numalab_worker *worker);

/* Checks that this pattern is unchanged; notes the first array where it is not. */
int numalab_results_check_before(struct numalab_worker *worker, struct numalab_results *results);

/* What the arrays should hold. */
struct numalab_expected {
    const struct numalab_driver *driver;
    struct numalab_oracle *oracle; /* for a job that of all ranks; for a worker its rank's */
    const char *phase;             /* the phase that has run last */
    size_t repetition;             /* number of compute phases before that */
};

/* Compares count elements of one array from element first on. */
int numalab_results_compare(struct numalab_worker *worker, const struct numalab_expected *expected,
                            size_t array, size_t first, size_t count,
                            struct numalab_results *results);

/* Compares a whole array; a large one by several threads, since the stopped worker leaves its cores
 * free. */
int numalab_results_compare_array(struct numalab_worker *worker,
                                  const struct numalab_expected *expected, size_t array,
                                  struct numalab_results *results);

/* New values of inputs before a repetition; empty where the driver has renew, which changes all. */
struct numalab_changes {
    size_t count, room; /* changes in list, and those that it has memory for */
    struct numalab_change *list;
};

/* Frees the list and leaves an empty one, which can be used again. */
void numalab_changes_free(struct numalab_changes *changes);

/* The fewest and the most changes before a repetition, whatever the size of the arrays. */
enum { NUMALAB_LEAST_CHANGES = 8, NUMALAB_MOST_CHANGES = 32768 };

/* The changes, and the random places, that are checked after a repetition. */
enum { NUMALAB_SPOT_CHANGES = 8, NUMALAB_SPOT_PLACES = 8 };

/* Gives random inputs of arrays of n elements new values in the oracle, and lists them in changes
 * in place of those before. Returns 0 or a negative errno. */
int numalab_results_draw_changes(const struct numalab_driver *driver, struct numalab_oracle *oracle,
                                 struct numalab_random *random, size_t n,
                                 struct numalab_changes *changes);

/* Writes the changes, or after renew all inputs, to the worker. oracle: its rank's. */
int numalab_results_write_changes(struct numalab_worker *worker,
                                  const struct numalab_driver *driver,
                                  const struct numalab_oracle *oracle,
                                  const struct numalab_changes *changes);

/* Compares, in every array, the surroundings of some of the changes and of random elements. */
int numalab_results_spot_check(struct numalab_worker *worker,
                               const struct numalab_expected *expected,
                               struct numalab_random *random, const struct numalab_changes *changes,
                               struct numalab_results *results);

#endif
