#define _GNU_SOURCE
#include "runs.h"

#include <stdio.h>
#include <string.h>

struct numalab_limits numalab_limits_of_role(const struct numalab_run_options *options,
                                             const struct numalab_role *role)
{
    struct numalab_limits limits = options->limits;
    limits.variables = &role->variables;
    if (options->node) limits.line_bytes = (uint32_t)options->node->line_bytes;
    limits.huge_pages = options->driver->uses_huge_pages && strcmp(role->name, "handout") != 0;
    return limits;
}

/* Here and nowhere else, whatever batch system there is. */
static int launch_ranks(struct numalab_job *job, const struct numalab_role *role, size_t rank_count,
                        const struct numalab_limits *limits, int cancel_fd)
{
    enum { OWN_WORDS = 9 };
    char count[24];
    const char *command[OWN_WORDS + NUMALAB_MAX_LAUNCH_WORDS + 2] = {
        NUMALAB_MPIEXEC, "-launcher", "fork", "-rmk", "user", "-hosts", "127.0.0.1", "-n", count};
    snprintf(count, sizeof count, "%zu", rank_count);
    memcpy(command + OWN_WORDS, role->launch_word,
           role->launch_word_count * sizeof *role->launch_word);
    command[OWN_WORDS + role->launch_word_count] = role->program;
    return numalab_job_launch(job, command, rank_count, limits, cancel_fd);
}

int numalab_role_launch(struct numalab_job *job, const struct numalab_run_options *options,
                        const struct numalab_role *role, size_t rank_count,
                        const struct numalab_limits *limits)
{
    return options->driver->rank_counts
               ? launch_ranks(job, role, rank_count, limits, options->cancel_fd)
               : numalab_job_start_worker(job, role->program, limits, options->cancel_fd);
}

int numalab_role_connect(struct numalab_job *job, const struct numalab_driver *driver)
{
    if (numalab_job_connect(job) < 0) return -1;
    return driver->start_phase ? numalab_job_run(job, driver->start_phase) : 0;
}

int numalab_role_start(struct numalab_job *job, const struct numalab_run_options *options,
                       const struct numalab_role *role, size_t rank_count,
                       const struct numalab_limits *limits)
{
    if (numalab_role_launch(job, options, role, rank_count, limits) < 0) return -1;
    return numalab_role_connect(job, options->driver);
}
