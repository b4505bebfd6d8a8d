/* Compares the results of all ranks of a job with the oracle; see results.h for a single worker.
 * The oracle is that of all ranks. Functions that return int return 0, or -1 with
 * job->failed->outcome set; mismatches are no error, and noted in results. */
#ifndef NUMALAB_MONITOR_JOB_RESULTS_H
#define NUMALAB_MONITOR_JOB_RESULTS_H

#include "monitor/processes/job.h"
#include "results.h"

/* Returns an oracle for problem size n, which the caller frees by driver->destroy; NULL without
 * memory. is_brief: as in create_ranks (numalab/driver.h). */
struct numalab_oracle *numalab_job_oracle(const struct numalab_driver *driver, size_t n,
                                          size_t rank_count, bool is_brief);

/* The changes of each rank's inputs between two repetitions. All zeros: none. */
struct numalab_job_changes {
    struct numalab_changes rank[NUMALAB_MAX_RANKS];
};

void numalab_job_changes_free(struct numalab_job_changes *changes);

/* As the functions of results.h without `job`, for all ranks. */
int numalab_job_prepare(struct numalab_job *job);
int numalab_job_check_before(struct numalab_job *job, struct numalab_results *results);
int numalab_job_compare_all(struct numalab_job *job, const struct numalab_expected *expected,
                            struct numalab_results *results);

/* As numalab_mapping_check, for all ranks. */
int numalab_job_check_mappings(struct numalab_job *job, struct numalab_results *results);

/* Gives random input elements of every rank new values, in the oracle and in the ranks; where the
 * driver has renew, all inputs. */
int numalab_job_change_inputs(struct numalab_job *job, const struct numalab_driver *driver,
                              struct numalab_oracle *oracle, struct numalab_random *random,
                              struct numalab_job_changes *changes);

/* The two halves of it, for several jobs with equal numbers of ranks that share an oracle and get
 * the same inputs: draw once, for any of the jobs, and write to each. */
int numalab_job_draw_changes(struct numalab_job *job, const struct numalab_driver *driver,
                             struct numalab_oracle *oracle, struct numalab_random *random,
                             struct numalab_job_changes *changes);
int numalab_job_write_changes(struct numalab_job *job, const struct numalab_driver *driver,
                              struct numalab_oracle *oracle,
                              const struct numalab_job_changes *changes);

/* Reads what a rank has noted of itself so far. */
int numalab_job_read_notes(struct numalab_job *job, size_t rank, struct numalab_rank_notes *notes);

/* As numalab_results_spot_check, for all ranks. */
int numalab_job_spot_check(struct numalab_job *job, const struct numalab_expected *expected,
                           struct numalab_random *random, const struct numalab_job_changes *changes,
                           struct numalab_results *results);

#endif
