/* The kinds of run a monitor can do, and what they are told. */
#ifndef NUMALAB_MONITOR_RUNS_H
#define NUMALAB_MONITOR_RUNS_H

#include <jansson.h>
#include <stdbool.h>

#include "monitor/groups.h"
#include "monitor/node.h"
#include "monitor/processes/environment.h"
#include "monitor/processes/job.h"
#include "monitor/processes/sandbox.h"
#include "monitor/rounds.h"
#include "monitor/sample.h"
#include "monitor/sizing.h"
#include "monitor/touch_map.h"

/* NUMALAB_MAX_SET_VARIABLES: by --set; there is room for the kit's own beside them. */
enum { NUMALAB_MAX_ROLES = 8, NUMALAB_MAX_SET_VARIABLES = 8, NUMALAB_MAX_LAUNCH_WORDS = 16 };
enum { NUMALAB_MAX_GROUP_SETTINGS = 8 };

/* Of limits.patience, where several ranks share a busy node: one that waits for a message gives
 * its core to other programs, for some milliseconds each time. */
enum { NUMALAB_RANK_PATIENCE = 4 };

struct numalab_role {
    const char *name;    /* "handout", "solution", "submission", "control", "probe" */
    const char *program; /* path of its worker */
    struct numalab_variables variables; /* of its environment, beside the monitor's own */
    size_t rank_count;                  /* of an MPI job */
    double cut_s;      /* of a generation: a timed phase that takes longer ends the role's part in
                          it; 0: only limits.phase_s */
    bool is_reference; /* of a generation: the kit's own, which is looked at less in the end */
    bool may_fail;     /* of a generation: the others go on without it, and its time is beside
                          what says how many rounds there are */
    size_t launch_word_count;
    const char *launch_word[NUMALAB_MAX_LAUNCH_WORDS]; /* mpiexec's: where ranks are bound */
};

struct numalab_group_setting {
    const char *group;
    const struct numalab_group_key *key;
    const char *value; /* as Linux takes it */
};

struct numalab_run_options {
    const struct numalab_driver *driver;
    const struct numalab_node *node;
    struct numalab_role role[NUMALAB_MAX_ROLES];
    size_t role_count;
    size_t thread_count;
    enum numalab_size size;
    struct numalab_sampling sampling;   /* of page evidence */
    bool has_seed;                      /* as it was given; else it is drawn */
    size_t n;                           /* of page evidence; 0: as sizing.h says */
    size_t line_bytes;                  /* of a cache line; 0: as the node has them */
    struct numalab_round_limits rounds; /* of a generation */
    bool has_single_thread_run; /* placement: beside the team the same with one thread, in turns */
    bool is_sequential;         /* one worker at a time: less memory, no interleaving */
    const char
        *memory_policy; /* placing: of the whole process, POLICY:NODES; NULL: the monitor's */
    bool fills_node;    /* placing: the matrix has more than a NUMA node's free memory */
    struct numalab_group_setting group_setting[NUMALAB_MAX_GROUP_SETTINGS]; /* cpusets */
    size_t group_setting_count;
    bool synchronous_sends; /* check: every send of a rank waits for its receive */
    enum numalab_touch_order touch_order;
    enum numalab_touch_method touch_method;
    struct numalab_limits limits;
    struct numalab_sandbox sandbox; /* limits.sandbox, if there is one */
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

/* The two halves of it, where several roles may come up at once. */
int numalab_role_launch(struct numalab_job *job, const struct numalab_run_options *options,
                        const struct numalab_role *role, size_t rank_count,
                        const struct numalab_limits *limits);
int numalab_role_connect(struct numalab_job *job, const struct numalab_driver *driver);

/* What a run has to be given. */
enum numalab_run_needs {
    NUMALAB_NEEDS_SINGLE_ROLE,
    NUMALAB_NEEDS_NO_ROLE,   /* it looks at programs of the monitor's own */
    NUMALAB_NEEDS_ROLES,     /* one or several; its record tells of each apart */
    NUMALAB_NEEDS_MPI,       /* one, of a lab whose kernels are ranks */
    NUMALAB_NEEDS_PING_PONG, /* one, of a driver that says how many round trips a call makes */
};

/* Does the run: starts its own workers, ends them, and returns the record of what it saw, without
 * its kind, its one role and what every record has. The caller owns it. NULL only when there is no
 * memory. */
typedef json_t *numalab_run_function(const struct numalab_run_options *options);

/* The kinds of run, one row each: the name, which its function ends with, what it needs, and what
 * it sees, for the usage. Another run is another row, a file in this folder, and what the schema
 * and common/README.md say of it. */
#define NUMALAB_RUNS(ROW)                                                                          \
    ROW(check, NUMALAB_NEEDS_SINGLE_ROLE, "results for small and odd sizes")                       \
    ROW(trace, NUMALAB_NEEDS_SINGLE_ROLE, "who writes each page first, and who uses it")           \
    ROW(placement, NUMALAB_NEEDS_SINGLE_ROLE, "where pages and threads sit, and who works")        \
    ROW(at_work, NUMALAB_NEEDS_SINGLE_ROLE, "which threads use the arrays at some moments")        \
    ROW(binding, NUMALAB_NEEDS_SINGLE_ROLE, "where the threads of a team may run")                 \
    ROW(locate, NUMALAB_NEEDS_SINGLE_ROLE, "what threads that are moved say of where they are")    \
    ROW(memory, NUMALAB_NEEDS_SINGLE_ROLE, "huge pages of arrays, and what is given back")         \
    ROW(page_tables, NUMALAB_NEEDS_SINGLE_ROLE, "what page tables take, phase by phase")           \
    ROW(race, NUMALAB_NEEDS_SINGLE_ROLE, "data races, with a program built to find them")          \
    ROW(stores, NUMALAB_NEEDS_SINGLE_ROLE,                                                         \
        "which threads write which cache lines, with a program built for it")                      \
    ROW(placing, NUMALAB_NEEDS_SINGLE_ROLE, "where memory goes that a kernel has placed")          \
    ROW(cpusets, NUMALAB_NEEDS_NO_ROLE, "what control groups leave two programs")                  \
    ROW(series, NUMALAB_NEEDS_SINGLE_ROLE, "what a kernel answers about what is drawn")            \
    ROW(stops, NUMALAB_NEEDS_SINGLE_ROLE, "what a kernel finds of stops of its own thread")        \
    ROW(ranks, NUMALAB_NEEDS_MPI, "where the threads of each rank may run")                        \
    ROW(thread_level, NUMALAB_NEEDS_MPI, "which of the ranks' threads call MPI")                   \
    ROW(latency, NUMALAB_NEEDS_PING_PONG, "round trips of messages up to 4 MiB")                   \
    ROW(generation, NUMALAB_NEEDS_ROLES, "times, a fresh process or job for each role")

#define NUMALAB_DECLARE_RUN(name, needs, observes) numalab_run_function numalab_run_##name;
NUMALAB_RUNS(NUMALAB_DECLARE_RUN)

struct numalab_run {
    const char *name;
    numalab_run_function *function;
    enum numalab_run_needs needs;
    const char *observes;
};

extern const struct numalab_run numalab_runs[];
extern const size_t numalab_run_count;

/* Returns NULL where there is none of that name. */
const struct numalab_run *numalab_find_run(const char *name);

#endif
