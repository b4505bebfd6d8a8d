/* The kinds of run a monitor can do. Each starts its own workers, ends them, and
 * returns the record of what it saw, which the caller owns; NULL only when there
 * is no memory. */
#ifndef NUMALAB_MONITOR_RUNS_H
#define NUMALAB_MONITOR_RUNS_H

#include <jansson.h>
#include <stdbool.h>

#include "monitor/processes/environment.h"
#include "monitor/processes/job.h"
#include "monitor/node.h"
#include "monitor/sizing.h"
#include "monitor/touch_map.h"

/* NUMALAB_MAX_SET_VARIABLES: by --set; there is room for the kit's own beside them. */
enum { NUMALAB_MAX_ROLES = 8, NUMALAB_MAX_SET_VARIABLES = 8, NUMALAB_MAX_LAUNCH_WORDS = 16 };

struct numalab_role {
    const char *name;    /* "handout", "solution", "submission", "control" */
    const char *program; /* path of its worker */
    struct numalab_variables variables; /* of its environment, beside the monitor's own */
    size_t rank_count; /* of an MPI job */
    double cut_s;      /* of a generation: a timed phase that takes longer ends the role's part in
                          it; 0: only limits.phase_s */
    size_t launch_word_count;
    const char *launch_word[NUMALAB_MAX_LAUNCH_WORDS]; /* mpiexec's: where ranks are bound */
};

struct numalab_run_options {
    const struct numalab_driver *driver;
    const struct numalab_node *node;
    struct numalab_role role[NUMALAB_MAX_ROLES];
    size_t role_count; /* 1 for all runs but the generation */
    size_t thread_count;
    enum numalab_size size;
    size_t traced_pages; /* of all arrays together, about */
    size_t repetitions;
    double budget_s;    /* of a generation: no further round of repetitions after it */
    bool one_at_a_time; /* one worker at a time: less memory, no interleaving */
    bool synchronous_sends; /* check: every send of a rank waits for its receive */
    enum numalab_touch_order touch_order;
    enum numalab_touch_method touch_method;
    struct numalab_limits limits;
    int cancel_fd;
};

/* Limits of a role's worker, and its variables, so the role has to last as long: huge pages for
 * all but the handout's, where the lab uses them. */
struct numalab_limits numalab_limits_of_role(const struct numalab_run_options *options,
                                             const struct numalab_role *role);

/* Starts a role's worker or its ranks, rank_count of them, and has them initialise MPI. Of a
 * lab without MPI there is one. Returns 0, or -1 with job->failed->outcome set. */
int numalab_role_start(struct numalab_job *job, const struct numalab_run_options *options,
                       const struct numalab_role *role, size_t rank_count,
                       const struct numalab_limits *limits);

/* "check": results for small, odd sizes, with guards that end at the last byte,
 * and inputs that change between repetitions. */
json_t *numalab_run_check(const struct numalab_run_options *options);

/* "trace": the touch map, and the threads' binding. */
json_t *numalab_run_trace(const struct numalab_run_options *options);

/* "placement": where the pages of private memory live, the threads' binding, and
 * the CPU time of each thread in the compute phase. */
json_t *numalab_run_placement(const struct numalab_run_options *options);

/* "ranks": where the threads of each rank may run. */
json_t *numalab_run_ranks(const struct numalab_run_options *options);

/* "thread_level": with which level of thread support the ranks start MPI, which of their
 * threads call it, and what they answer when MPI provides less. */
json_t *numalab_run_thread_level(const struct numalab_run_options *options);

/* "latency": times of round trips between two ranks, messages of 0 bytes to 4 MiB. For a
 * driver that says how many make up a compute phase. */
json_t *numalab_run_latency(const struct numalab_run_options *options);

/* "race": runs a program that was built to find data races, which ends at the first. */
json_t *numalab_run_race(const struct numalab_run_options *options);

/* "binding": where the threads of a team may run. */
json_t *numalab_run_binding(const struct numalab_run_options *options);

/* "locate": threads are moved about and say where they are. For a driver with the arrays
 * thread_id, pu and numa_node, int32_t each, one element a thread. */
json_t *numalab_run_locate(const struct numalab_run_options *options);

/* "memory": how much of the arrays that the kernel makes is on huge pages, what they take
 * in all, and what is left when the kernel has given them back. */
json_t *numalab_run_memory(const struct numalab_run_options *options);

/* "generation": one fresh process for each role, their repetitions interleaved,
 * every time taken. */
json_t *numalab_run_generation(const struct numalab_run_options *options);

#endif
