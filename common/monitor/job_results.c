#include "job_results.h"

#include "mapping.h"

struct numalab_oracle *numalab_job_oracle(const struct numalab_driver *driver, size_t n,
                                          size_t rank_count, bool is_brief)
{
    return driver->create_ranks ? driver->create_ranks(n, rank_count, is_brief) : driver->create(n);
}

static struct numalab_oracle *view(const struct numalab_driver *driver,
                                   struct numalab_oracle *oracle, size_t rank)
{
    return driver->select_rank ? driver->select_rank(oracle, rank) : oracle;
}

static struct numalab_expected expected_of(const struct numalab_expected *expected, size_t rank)
{
    struct numalab_expected rank_expected = *expected;
    rank_expected.oracle = view(expected->driver, expected->oracle, rank);
    return rank_expected;
}

/* What a rank's part returned, noted in the job. */
static int noted(struct numalab_job *job, size_t rank, int result)
{
    return result < 0 ? numalab_job_fail(job, &job->rank[rank]) : 0;
}

int numalab_job_read_notes(struct numalab_job *job, size_t rank, struct numalab_rank_notes *notes)
{
    struct numalab_worker *worker = &job->rank[rank];
    return noted(job, rank,
                 numalab_worker_read_or_fail(worker, worker->rank_notes, notes, sizeof *notes));
}

int numalab_job_prepare(struct numalab_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (noted(job, i, numalab_results_prepare(&job->rank[i])) < 0) return -1;
    return 0;
}

int numalab_job_check_before(struct numalab_job *job, struct numalab_results *results)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (noted(job, i, numalab_results_check_before(&job->rank[i], results)) < 0) return -1;
    return 0;
}

int numalab_job_check_mappings(struct numalab_job *job, struct numalab_results *results)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (noted(job, i, numalab_mapping_check(&job->rank[i], results)) < 0) return -1;
    return 0;
}

/* Array by array: what depends on others, such as a sum over all ranks, comes behind them in
 * every rank, so that the first wrong element is in what went wrong first. */
int numalab_job_compare_all(struct numalab_job *job, const struct numalab_expected *expected,
                            struct numalab_results *results)
{
    for (size_t array = 0; array < expected->driver->array_count; array++)
        for (size_t i = 0; i < job->rank_count; i++) {
            const struct numalab_expected rank_expected = expected_of(expected, i);
            if (noted(job, i,
                      numalab_results_compare_array(&job->rank[i], &rank_expected, array,
                                                    results)) < 0)
                return -1;
        }
    return 0;
}

void numalab_job_changes_free(struct numalab_job_changes *changes)
{
    for (size_t i = 0; i < NUMALAB_MAX_RANKS; i++) numalab_changes_free(&changes->rank[i]);
}

/* A rank without elements has no input, either. */
static bool has_inputs(const struct numalab_worker *worker)
{
    return worker->array_bytes > 0;
}

int numalab_job_draw_changes(struct numalab_job *job, const struct numalab_driver *driver,
                             struct numalab_oracle *oracle, struct numalab_random *random,
                             struct numalab_job_changes *changes)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        if (!has_inputs(&job->rank[i])) continue;
        const int error = numalab_results_draw_changes(driver, view(driver, oracle, i), random,
                                                       job->rank[i].n, &changes->rank[i]);
        if (error < 0) return numalab_job_kit_error(job, "change the inputs", error);
    }
    return 0;
}

int numalab_job_write_changes(struct numalab_job *job, const struct numalab_driver *driver,
                              struct numalab_oracle *oracle,
                              const struct numalab_job_changes *changes)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (has_inputs(&job->rank[i]) &&
            noted(job, i,
                  numalab_results_write_changes(&job->rank[i], driver, view(driver, oracle, i),
                                                &changes->rank[i])) < 0)
            return -1;
    return 0;
}

int numalab_job_change_inputs(struct numalab_job *job, const struct numalab_driver *driver,
                              struct numalab_oracle *oracle, struct numalab_random *random,
                              struct numalab_job_changes *changes)
{
    if (numalab_job_draw_changes(job, driver, oracle, random, changes) < 0) return -1;
    return numalab_job_write_changes(job, driver, oracle, changes);
}

int numalab_job_spot_check(struct numalab_job *job, const struct numalab_expected *expected,
                           struct numalab_random *random, const struct numalab_job_changes *changes,
                           struct numalab_results *results)
{
    for (size_t i = 0; i < job->rank_count; i++) {
        const struct numalab_expected rank_expected = expected_of(expected, i);
        if (has_inputs(&job->rank[i]) &&
            noted(job, i,
                  numalab_results_spot_check(&job->rank[i], &rank_expected, random,
                                             &changes->rank[i], results)) < 0)
            return -1;
    }
    return 0;
}
