#include "process_tree.h"

#include <poll.h>

#include "worker_internal.h"
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
static bool is_in_job(const struct numalab_job *job, pid_t pid, int depth)
{
    pid_t known[NUMALAB_MAX_RANKS + MOST_OWN];
    size_t count = 0;
    if (is_rank(job, pid)) return true;
    if (depth == MOST_DEPTH) return false;
    while (count < sizeof known / sizeof known[0]) {
        const pid_t child = numalab_proc_unknown_child(pid, known, count);
        if (!child) break;
        if (!is_in_job(job, child, depth + 1)) return false;
        known[count++] = child;
    }
    return count > 0;
}

bool numalab_job_started_only_ranks(const struct numalab_job *job)
{
    enum { POLLS = 100, POLL_MS = 2 };
    if (!numalab_proc_unknown_child(job->launcher.pid, NULL, 0)) return true; /* not told here */
    for (int poll_number = 0; poll_number < POLLS; poll_number++) {
        if (is_in_job(job, job->launcher.pid, 0)) return true;
        poll(NULL, 0, POLL_MS);
    }
    return false;
}

int numalab_job_fail_forked(struct numalab_job *job, struct numalab_worker *worker)
{
    /* The launcher does so for any of them. */
    worker->outcome.is_unattributed = job->rank_count > 1;
    worker->outcome.disturbance = NUMALAB_STARTED_PROCESS;
    numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    return numalab_job_fail(job, worker);
}

int numalab_job_check_processes(struct numalab_job *job)
{
    const bool is_launched = job->launcher.pid > 0;
    if (is_launched && job->has_only_ranks && !numalab_job_started_only_ranks(job))
        return numalab_job_fail_forked(job, &job->rank[0]);
    for (size_t i = 0; i < job->rank_count && !job->rank[i].limits.sandbox; i++)
        if (numalab_proc_unknown_child(job->rank[i].pid, NULL, 0))
            return numalab_job_fail_forked(job, &job->rank[i]);
    return 0;
}
