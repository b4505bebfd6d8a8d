#include "monitor/record.h"
#include "runs.h"

/* Every thread has something to do, and rows can be shared out. */
enum { PROBLEM_SIZE_PER_RANK = 64 };

/* Where ranks sit shows at once, however long the phase is. */
json_t *numalab_run_ranks(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_role role = options->role[0];
    struct numalab_limits limits = numalab_limits_of_role(options, &role);
    struct numalab_job job = {0};
    json_t *ranks = NULL;

    limits.modes = NUMALAB_IS_BRIEF;
    if (role.rank_count > 1) limits.patience = NUMALAB_RANK_PATIENCE;
    if (numalab_role_start(&job, options, &role, role.rank_count, &limits) == 0 &&
        numalab_job_allocate(&job, PROBLEM_SIZE_PER_RANK * role.rank_count, driver,
                             NUMALAB_ANONYMOUS) == 0 &&
        numalab_job_run(&job, driver->initialize_phase) == 0 &&
        numalab_job_run(&job, driver->compute_phase) == 0 && numalab_job_stop(&job) == 0)
        ranks = numalab_record_ranks(&job, options->node);
    numalab_job_end(&job);
    json_t *record = json_pack("{so so}", "ranks", ranks ? ranks : json_array(), "outcome",
                               numalab_record_job(&job, driver));
    numalab_job_free(&job);
    return record;
}
