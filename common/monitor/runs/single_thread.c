#define _GNU_SOURCE
#include "single_thread.h"

#include <errno.h>

#include "monitor/proc.h"
#include "monitor/record.h"

void numalab_single_thread_start(struct numalab_single_thread *single,
                                 const struct numalab_run_options *options, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    *single = (struct numalab_single_thread){.role = options->role[0]};
    /* The limit is for kernels that ask for a team of their own size; LLVM's runtime would print
     * that they don't get it. */
    const bool has_room =
        numalab_variables_set(&single->role.variables, "OMP_NUM_THREADS", "1") == 0 &&
        numalab_variables_set(&single->role.variables, "OMP_THREAD_LIMIT", "1") == 0 &&
        numalab_variables_set(&single->role.variables, "KMP_WARNINGS", "0") == 0;
    struct numalab_limits limits = numalab_limits_of_role(options, &single->role);
    limits.huge_pages = false;
    if (numalab_role_start(&single->job, options, &single->role, 1, &limits) < 0) return;
    if (!has_room) {
        numalab_job_kit_error(&single->job, "set variables of the environment", -E2BIG);
        return;
    }
    if (numalab_job_allocate(&single->job, n, driver, NUMALAB_ANONYMOUS) == 0)
        numalab_job_run(&single->job, driver->initialize_phase);
}

void numalab_single_thread_run(struct numalab_single_thread *single,
                               const struct numalab_driver *driver)
{
    if (single->job.failed) return;
    const pid_t pid = single->job.rank[0].pid;
    const double before_s = numalab_proc_cpu_s(pid);
    if (numalab_job_run(&single->job, driver->compute_phase) < 0) return;
    single->cpu_s += numalab_proc_cpu_s(pid) - before_s;
    single->computes++;
}

bool numalab_single_thread_is_cancelled(const struct numalab_single_thread *single)
{
    return single->job.failed && single->job.failed->outcome.kind == NUMALAB_CANCELLED;
}

json_t *numalab_single_thread_describe(struct numalab_single_thread *single,
                                       const struct numalab_driver *driver)
{
    numalab_job_end(&single->job);
    return json_pack("{sI sf sf so}", "computes", (json_int_t)single->computes, "cpu_s",
                     single->cpu_s, "team_cpu_s", single->team_cpu_s, "outcome",
                     numalab_record_job(&single->job, driver));
}

void numalab_single_thread_free(struct numalab_single_thread *single)
{
    numalab_job_end(&single->job);
    numalab_job_free(&single->job);
}
