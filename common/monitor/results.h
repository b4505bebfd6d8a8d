/* Reads results out of a stopped worker and compares them with the oracle;
 * changes inputs between repetitions. */
#ifndef NUMALAB_MONITOR_RESULTS_H
#define NUMALAB_MONITOR_RESULTS_H

#include <stdbool.h>

#include "random.h"
#include "monitor/processes/worker_process.h"

/* What comparing has found so far. */
struct numalab_results {
    uint64_t checked; /* elements compared */
    uint64_t mismatches;
    struct numalab_mismatch first_mismatch; /* if wrong > 0 */
    size_t mismatch_rank, mismatch_n;
    const char *mismatch_row;                   /* its name; NULL: none */
    char mismatch_remark[NUMALAB_REMARK_BYTES]; /* may be empty */
    const char *mismatch_phase;
    size_t mismatch_repetition;                  /* compute phases done before, from 0 */
    uint64_t required_messages, actual_messages; /* of a rank that had fewer than it has to */
    uint64_t required_bytes, actual_bytes;       /* ... or that sent less in them */
    uint64_t early_messages;                     /* ... or sent so many before they were due */
    struct numalab_request_note requests;        /* of the first fault with them; count 0: none */
    enum numalab_request_fault request_fault;
    size_t requests_rank;
    const char *requests_phase;
    bool is_replaced;        /* an array is not the memory that it was ... */
    size_t replaced_array;   /* ... this one */
    bool wrote_before_array; /* memory before an array was changed ... */
    bool wrote_after_array;  /* ... or behind it, in its last page ... */
    size_t damaged_array;    /* ... this one */
};

/* Fills the arrays with bytes 0xff (NaN for floating point) and the unused
 * bytes of their pages before and behind them with a pattern. */
int numalab_results_prepare(struct numalab_worker *worker);

/* Looks whether that pattern is still there. */
int numalab_results_check_before(struct numalab_worker *worker, struct numalab_results *results);

/* What the arrays should hold, and since when. */
struct numalab_expected {
    const struct numalab_driver *driver;
    struct numalab_oracle *oracle; /* of a job the whole one; of a worker as its rank sees it */
    const char *phase;             /* that has run last */
    size_t repetition;             /* compute phases done before, from 0 */
};

/* Compares count elements of one array from element first on. */
int numalab_results_compare(struct numalab_worker *worker, const struct numalab_expected *expected,
                            size_t array, size_t first, size_t count,
                            struct numalab_results *results);

/* Compares a whole array, a large one by several threads: the worker stands still, so cores are
 * free. */
int numalab_results_compare_array(struct numalab_worker *worker,
                                  const struct numalab_expected *expected, size_t array,
                                  struct numalab_results *results);

/* New values of inputs, before a repetition: elements, or whole arrays where the driver has renew.
 */
struct numalab_changes {
    size_t count, room;
    struct numalab_change *list;
};

/* Frees the list and leaves an empty one, which can be used again. */
void numalab_changes_free(struct numalab_changes *changes);

/* Fewer are made in no array, however small it is; and more in none, however large: then they are
 * further apart. */
enum { NUMALAB_LEAST_CHANGES = 8, NUMALAB_MOST_CHANGES = 32768 };

/* Of the changes so many are looked at after a repetition, and so many random places. */
enum { NUMALAB_SPOT_CHANGES = 8, NUMALAB_SPOT_PLACES = 8 };

/* Gives inputs of arrays of n elements new values in the oracle; the list says which, and takes the
 * place of the one before. Returns 0, or a negative errno. */
int numalab_results_draw_changes(const struct numalab_driver *driver, struct numalab_oracle *oracle,
                                 struct numalab_random *random, size_t n,
                                 struct numalab_changes *changes);

/* Gives them to the worker. oracle: as its rank sees it. */
int numalab_results_write_changes(struct numalab_worker *worker,
                                  const struct numalab_driver *driver,
                                  const struct numalab_oracle *oracle,
                                  const struct numalab_changes *changes);

/* Compares the places (of every array) of some of those changes, and random ones. */
int numalab_results_spot_check(struct numalab_worker *worker,
                               const struct numalab_expected *expected,
                               struct numalab_random *random, const struct numalab_changes *changes,
                               struct numalab_results *results);

#endif
