#define _GNU_SOURCE
#include "one_thread.h"

#include <errno.h>
#include <time.h>

#include "monitor/record.h"

double numalab_process_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec now;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &now) < 0) return 0.0;
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void numalab_one_thread_start(struct numalab_one_thread *one,
                              const struct numalab_run_options *options, size_t n)
{
    const struct numalab_driver *driver = options->driver;
    *one = (struct numalab_one_thread){.role = options->role[0]};
    /* The limit is for kernels that ask for a team of their own size; LLVM's runtime would print
     * that they don't get it. */
    const bool has_room =
        numalab_variables_set(&one->role.variables, "OMP_NUM_THREADS", "1") == 0 &&
        numalab_variables_set(&one->role.variables, "OMP_THREAD_LIMIT", "1") == 0 &&
        numalab_variables_set(&one->role.variables, "KMP_WARNINGS", "0") == 0;
    struct numalab_limits limits = numalab_limits_of_role(options, &one->role);
    limits.huge_pages = false;
    if (numalab_role_start(&one->job, options, &one->role, 1, &limits) < 0) return;
    if (!has_room) {
        numalab_job_kit_error(&one->job, "set variables of the environment", -E2BIG);
        return;
    }
    if (numalab_job_allocate(&one->job, n, driver, NUMALAB_ANONYMOUS) == 0)
        numalab_job_run(&one->job, driver->initialize_phase);
}

void numalab_one_thread_run(struct numalab_one_thread *one, const struct numalab_driver *driver)
{
    if (one->job.failed) return;
    const pid_t pid = one->job.rank[0].pid;
    const double before_s = numalab_process_cpu_s(pid);
    if (numalab_job_run(&one->job, driver->compute_phase) < 0) return;
    one->cpu_s += numalab_process_cpu_s(pid) - before_s;
    one->computes++;
}

bool numalab_one_thread_is_cancelled(const struct numalab_one_thread *one)
{
    return one->job.failed && one->job.failed->outcome.kind == NUMALAB_CANCELLED;
}

json_t *numalab_one_thread_describe(struct numalab_one_thread *one,
                                    const struct numalab_driver *driver)
{
    numalab_job_end(&one->job);
    return json_pack("{sI sf sf so}", "computes", (json_int_t)one->computes, "cpu_s", one->cpu_s,
                     "team_cpu_s", one->team_cpu_s, "outcome",
                     numalab_record_job(&one->job, driver));
}

void numalab_one_thread_free(struct numalab_one_thread *one)
{
    numalab_job_end(&one->job);
    numalab_job_free(&one->job);
}
