#include "process_tree.h"

#include <poll.h>

#include "monitor/proc.h"

/* A sandbox has two processes, a launcher two more on one node; ranks lie below. */
enum { MOST_DEPTH = 8, MOST_OWN = 64 };

struct ranks {
    const struct numalab_worker *rank;
    size_t count;
};

static bool is_rank(const struct ranks *ranks, pid_t pid)
{
    for (size_t i = 0; i < ranks->count; i++)
        if (ranks->rank[i].pid == pid) return true;
    return false;
}

/* Whether a process is a rank, or has started ranks and what starts ranks only. */
static bool starts_only_ranks(const struct ranks *ranks, pid_t pid, int depth)
{
    pid_t known[NUMALAB_MAX_RANKS + MOST_OWN];
    size_t count = 0;
    if (is_rank(ranks, pid)) return true;
    if (depth == MOST_DEPTH) return false;
    while (count < sizeof known / sizeof known[0]) {
        const pid_t child = numalab_proc_unknown_child(pid, known, count);
        if (!child) break;
        if (!starts_only_ranks(ranks, child, depth + 1)) return false;
        known[count++] = child;
    }
    return count > 0;
}

bool numalab_process_tree_has_only_ranks(pid_t launcher, const struct numalab_worker *rank,
                                         size_t rank_count)
{
    enum { POLLS = 100, POLL_MS = 2 };
    const struct ranks ranks = {rank, rank_count};
    if (!numalab_proc_unknown_child(launcher, NULL, 0)) return true; /* not told here */
    for (int i = 0; i < POLLS; i++) {
        if (starts_only_ranks(&ranks, launcher, 0)) return true;
        poll(NULL, 0, POLL_MS);
    }
    return false;
}
