#include "family.h"

#include <poll.h>

#include "inside.h"
#include "monitor/proc.h"

/* A sandbox has two processes, a launcher two more on one node; ranks lie below. */
enum { MOST_DEPTH = 8, MOST_OWN = 64 };

static bool is_rank(const struct numalab_job *job, pid_t pid)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->rank[i].pid == pid) return true;
    return false;
}

/* Whether a process is a rank, or has started ranks and what starts ranks only. */
static bool is_of_family(const struct numalab_job *job, pid_t pid, int depth)
{
    pid_t seen[NUMALAB_MAX_RANKS + MOST_OWN];
    size_t count = 0;
    if (is_rank(job, pid)) return true;
    if (depth == MOST_DEPTH) return false;
    while (count < sizeof seen / sizeof seen[0]) {
        const pid_t child = numalab_proc_unknown_child(pid, seen, count);
        if (!child) break;
        if (!is_of_family(job, child, depth + 1)) return false;
        seen[count++] = child;
    }
    return count > 0;
}

bool numalab_job_waits_for_ranks_only(const struct numalab_job *job)
{
    enum { LOOKS = 100, LOOK_MS = 2 };
    if (!numalab_proc_unknown_child(job->launcher.pid, NULL, 0)) return true; /* not told here */
    for (int look = 0; look < LOOKS; look++) {
        if (is_of_family(job, job->launcher.pid, 0)) return true;
        poll(NULL, 0, LOOK_MS);
    }
    return false;
}

int numalab_job_fail_as_forking(struct numalab_job *job, struct numalab_worker *worker)
{
    /* The launcher does so for any of them. */
    worker->outcome.is_anyone = job->rank_count > 1;
    worker->outcome.disturbance = NUMALAB_STARTED_PROCESS;
    numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    return numalab_job_fail(job, worker);
}

int numalab_job_check_processes(struct numalab_job *job)
{
    const bool is_launched = job->launcher.pid > 0;
    if (is_launched && job->has_only_ranks && !numalab_job_waits_for_ranks_only(job))
        return numalab_job_fail_as_forking(job, &job->rank[0]);
    for (size_t i = 0; i < job->rank_count && !job->rank[i].limits.sandbox; i++)
        if (numalab_proc_unknown_child(job->rank[i].pid, NULL, 0))
            return numalab_job_fail_as_forking(job, &job->rank[i]);
    return 0;
}
