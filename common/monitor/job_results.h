/* The results of all ranks of a job, read and compared; see results.h. The oracle is the
 * whole one. Each returns 0, or -1 with job->failed->outcome set. */
#ifndef NUMALAB_MONITOR_JOB_RESULTS_H
#define NUMALAB_MONITOR_JOB_RESULTS_H

#include "monitor/processes/job.h"
#include "results.h"

/* is_brief: of ranks that are told to be (numalab/ranks.h). Returns NULL when there is no memory.
 * The caller owns it. */
struct numalab_oracle *numalab_job_oracle(const struct numalab_driver *driver, size_t n,
                                          size_t rank_count, bool is_brief);

/* The changes of each rank between two repetitions; empty where all is zero. */
struct numalab_job_changes {
    struct numalab_changes rank[NUMALAB_MAX_RANKS];
};

void numalab_job_changes_free(struct numalab_job_changes *changes);

int numalab_job_prepare(struct numalab_job *job);
int numalab_job_check_before(struct numalab_job *job, struct numalab_results *results);
int numalab_job_compare_all(struct numalab_job *job, const struct numalab_expected *expected,
                            struct numalab_results *results);

/* As mapping.h, of all ranks. */
int numalab_job_check_mappings(struct numalab_job *job, struct numalab_results *results);

/* Gives random input elements of every rank new values, in the oracle and in the ranks. */
int numalab_job_change_inputs(struct numalab_job *job, const struct numalab_driver *driver,
                              struct numalab_oracle *oracle, struct numalab_random *random,
                              struct numalab_job_changes *changes);

/* The two halves of it, where several jobs of as many ranks get the same inputs, and share an
 * oracle: job is any of them first, and then each. */
int numalab_job_draw_changes(struct numalab_job *job, const struct numalab_driver *driver,
                             struct numalab_oracle *oracle, struct numalab_random *random,
                             struct numalab_job_changes *changes);
int numalab_job_write_changes(struct numalab_job *job, const struct numalab_driver *driver,
                              struct numalab_oracle *oracle,
                              const struct numalab_job_changes *changes);

/* What a rank has noted of itself so far. */
int numalab_job_read_notes(struct numalab_job *job, size_t rank, struct numalab_rank_notes *notes);

int numalab_job_spot_check(struct numalab_job *job, const struct numalab_expected *expected,
                           struct numalab_random *random, const struct numalab_job_changes *changes,
                           struct numalab_results *results);

#endif
