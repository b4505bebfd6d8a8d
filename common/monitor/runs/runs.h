/* The kinds of run that a monitor can do, and their options. */
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

/* NUMALAB_MAX_SET_VARIABLES: those by --set, besides which there is room for numalab's own. */
enum { NUMALAB_MAX_ROLES = 8, NUMALAB_MAX_SET_VARIABLES = 8, NUMALAB_MAX_LAUNCH_WORDS = 16 };
enum { NUMALAB_MAX_GROUP_SETTINGS = 8 };

/* limits.patience of ranks: on a loaded machine a rank that waits for a message leaves its core to
 * other programs for some milliseconds each time. */
enum { NUMALAB_RANK_PATIENCE = 4 };

struct numalab_role {
    const char *name;    /* "handout", "solution", "submission", "control", "probe" */
    const char *program; /* path of its worker */
    struct numalab_variables variables; /* of its environment, added to the monitor's */
    size_t rank_count;                  /* of an MPI job */
    double cut_s;      /* run generation: a timed phase that takes longer ends the role's part in
                          it; 0: only limits.phase_s */
    bool is_reference; /* run generation: numalab's own code, which is checked less at the end */
    bool may_fail;     /* run generation: the others go on without it, and its time does not count
                          for the number of rounds */
    size_t launch_word_count;
    const char *launch_word[NUMALAB_MAX_LAUNCH_WORDS]; /* mpiexec's: where ranks are bound */
};

/* A setting of a control group, for the run cpusets. */
struct numalab_group_setting {
    const char *group;
    const struct numalab_group_key *key;
    const char *value; /* in Linux's form */
};

struct numalab_run_options {
    const struct numalab_driver *driver;
    const struct numalab_node *node;
    struct numalab_role role[NUMALAB_MAX_ROLES];
    size_t role_count;
    size_t thread_count;
    enum numalab_size size;
    struct numalab_sampling sampling;   /* of page evidence */
    bool has_seed;                      /* sampling.seed was given; else it is random */
    size_t n;                           /* of page evidence; 0: by sizing.h */
    size_t line_bytes;                  /* of a cache line; 0: the machine's */
    struct numalab_round_limits rounds; /* run generation */
    bool has_single_thread_run;         /* run placement: one thread, too, in turns with the team */
    bool is_sequential;                 /* one worker at a time: less memory, no interleaving */
    const char
        *memory_policy; /* run placing: the whole process's, POLICY:NODES; NULL: the monitor's */
    bool fills_node;    /* run placing: the matrix is larger than a NUMA node's free memory */
    struct numalab_group_setting group_setting[NUMALAB_MAX_GROUP_SETTINGS]; /* run cpusets */
    size_t group_setting_count;
    bool synchronous_sends; /* run check: every send of a rank waits for its receive */
    enum numalab_touch_order touch_order;
    enum numalab_touch_method touch_method;
    struct numalab_limits limits;
    struct numalab_sandbox sandbox; /* limits.sandbox, if there is one */
    int cancel_fd;
};

/* Returns the limits of a role's worker: with huge pages if the lab uses them and the role is not
 * "handout". They refer to the role's variables, so the role must last as long. */
struct numalab_limits numalab_limits_of_role(const struct numalab_run_options *options,
                                             const struct numalab_role *role);

/* Starts a role's worker, or its ranks, rank_count of them, which initialise MPI. rank_count is 1
 * for a lab without MPI. Returns 0, or -1 with job->failed->outcome set. */
int numalab_role_start(struct numalab_job *job, const struct numalab_run_options *options,
                       const struct numalab_role *role, size_t rank_count,
                       const struct numalab_limits *limits);

/* The two halves of it, for several roles that start at once. */
int numalab_role_launch(struct numalab_job *job, const struct numalab_run_options *options,
                        const struct numalab_role *role, size_t rank_count,
                        const struct numalab_limits *limits);
int numalab_role_connect(struct numalab_job *job, const struct numalab_driver *driver);

/* The roles that a run needs. */
enum numalab_run_needs {
    NUMALAB_NEEDS_SINGLE_ROLE,
    NUMALAB_NEEDS_NO_ROLE,   /* it observes processes of the monitor's own */
    NUMALAB_NEEDS_ROLES,     /* one or several; its record has an entry for each */
    NUMALAB_NEEDS_MPI,       /* one, of a lab whose kernels are ranks */
    NUMALAB_NEEDS_PING_PONG, /* one, of a driver with repetitions */
};

/* Does the run: starts its workers, ends them, and returns the record of what it observed, without
 * the run's kind, its single role and what all records have. The caller owns it. NULL only without
 * memory. */
typedef json_t *numalab_run_function(const struct numalab_run_options *options);

/* The kinds of run, a row each: the name, with which the name of its function ends, what it needs,
 * and what it observes, for the usage. A new run has a row here and a file in this folder;
 * CONTRIBUTING.md, "Add a kind of evidence", lists what else it takes. */
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

/* Returns the run of a name; NULL if there is none. */
const struct numalab_run *numalab_find_run(const char *name);

#endif
