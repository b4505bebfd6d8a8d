/* Starts a worker, has it run phases, times it, stops it, reads and writes its memory, and ends it
 * whatever it does. */
#ifndef NUMALAB_MONITOR_WORKER_PROCESS_H
#define NUMALAB_MONITOR_WORKER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "protocol.h"

enum numalab_outcome_kind {
    NUMALAB_OK = 0,
    NUMALAB_CRASHED,          /* ended by a signal of its own */
    NUMALAB_EXITED,           /* ended itself: exit, stop, abort of the runtime */
    NUMALAB_TIMED_OUT,        /* a phase did not return within its limits */
    NUMALAB_OUT_OF_MEMORY,    /* grew beyond its limit */
    NUMALAB_TOO_MUCH_OUTPUT,  /* printed beyond its limit */
    NUMALAB_TOO_MANY_THREADS, /* in a sandbox: started more than any team needs */
    NUMALAB_NO_ARRAY,         /* the kernel was to make an array and did not */
    NUMALAB_ARRAY_GONE,       /* an array is not, or no longer, mapped as a whole */
    NUMALAB_UNTRACEABLE,      /* has no userfaultfd to give, though this system has them */
    NUMALAB_BAD_PROTOCOL,     /* something else wrote on the worker's channel, or kept
                                 the worker from being stopped */
    NUMALAB_OBSTRUCTED,       /* numalab could not do its part in the worker's process, which its
                                 kernel may have caused */
    NUMALAB_CANCELLED,        /* the monitor was requested to stop */
    NUMALAB_KIT_ERROR         /* numalab could not do its part, whatever the kernel did */
};

/* How a worker disturbed the monitor (NUMALAB_BAD_PROTOCOL). */
enum numalab_disturbance {
    NUMALAB_FORGED_MESSAGE =
        0,                     /* something else wrote on its channel, or it could not be stopped */
    NUMALAB_RAN_WHILE_STOPPED, /* it was stopped, and another process had continued it */
    NUMALAB_STARTED_PROCESS,   /* where that is not refused, but times are taken */
    NUMALAB_MAPPED_TWICE       /* it has memory at two addresses, where writes are observed */
};

/* NUMALAB_TIMED_OUT: the limit that was passed. */
struct numalab_timed_out {
    double limit_s;       /* seconds of wall time or of CPU time */
    bool is_wall_limit;   /* else of CPU time */
    bool is_cut;          /* limits.cut_s, and nothing is wrong */
    bool is_total;        /* of all phases together, else of one */
    bool has_progress;    /* ranks still asked for messages */
    size_t pending_ranks; /* this one and others of its job that had not replied */
};

/* Why a worker can't go on, and where it was. kind says which part of the union holds: that of the
 * same name, and none for kinds that have none. numalab_worker_fail sets it as a whole. */
struct numalab_outcome {
    enum numalab_outcome_kind kind;
    const char *doing; /* phase, or numalab's own step; NULL before the first */
    size_t n;          /* problem size; 0 before arrays are allocated */
    union {
        struct {
            int signal_number;
            bool has_report; /* the worker reported its crash: */
            struct numalab_message report;
        } crashed;
        struct {
            int exit_code;        /* may be NUMALAB_UNKNOWN_EXIT_CODE */
            bool has_left;        /* a rank reported that it leaves */
            bool is_unattributed; /* several ranks ended, and none reported that it began */
        } exited;
        struct numalab_timed_out timed_out;
        struct {
            uint64_t resident_bytes, limit_bytes;
        } out_of_memory;
        struct {
            uint64_t limit_bytes;
        } too_much_output;
        struct {
            size_t threads, most_threads;
        } too_many_threads;
        struct {
            bool is_map_failed; /* -1 in place of NULL */
        } no_array;
        struct {
            enum numalab_disturbance disturbance;
            double ran_s;         /* NUMALAB_RAN_WHILE_STOPPED: CPU time taken then */
            bool is_unattributed; /* NUMALAB_STARTED_PROCESS: by any of several ranks */
        } bad_protocol;
        struct {
            int error; /* negative errno */
        } obstructed, kit_error;
    };
};

struct numalab_heartbeat;
struct numalab_sandbox;
struct numalab_variables;

/* What a worker may do and use. Set phase_s, memory_bytes, output_bytes and thread_count; all else
 * may be 0, false or NULL. */
struct numalab_limits {
    double phase_s;  /* required: CPU seconds of one phase, of all threads together, divided by the
                        cores that the team can use; twice as much wall time */
    unsigned phases; /* all phases of a process together may take so many times phase_s; 0: there
                        is no limit for all */
    double cut_s;    /* wall seconds after which a phase need not be waited for; 0: none */
    unsigned patience;      /* a phase of ranks that still exchange messages may take so many times
                               phase_s; 0: phase_s */
    uint64_t memory_bytes;  /* required: resident, beyond the arrays */
    uint64_t output_bytes;  /* required: printed in all */
    size_t thread_count;    /* required: of the team; also sizes the address space */
    uint32_t modes;         /* of enum numalab_mode, those that are on */
    uint32_t line_bytes;    /* of a cache line, as kernels get it; 0: unknown */
    bool huge_pages;        /* it may ask for huge pages; false: it gets none */
    bool soft_ends;         /* the page behind an array may be read */
    bool any_address_space; /* it may reserve more addresses than it uses */
    bool notes_stores;      /* it notes each store: Linux makes none in its stead */
    bool keeps_core;        /* a rank that waits spins, unless there are more ranks than cores;
                               false: it yields its core */
    struct numalab_heartbeat *heartbeat;   /* clock of limits; NULL: CLOCK_BOOTTIME. Not owned */
    const struct numalab_sandbox *sandbox; /* NULL: none. Not owned */
    const struct numalab_variables *variables; /* of its environment, added to the monitor's; NULL:
                                                  none. Not owned, and read at the start only */
};

enum { NUMALAB_KEPT_OUTPUT_BYTES = 4096, NUMALAB_MAX_RANKS = 256 };

/* The exit code of a rank, which only its parent, the launcher, learns. */
enum { NUMALAB_UNKNOWN_EXIT_CODE = -1 };

/* The parent of a worker; known from its start on, and kept after its end. */
enum numalab_worker_kind {
    NUMALAB_NOT_STARTED = 0,
    NUMALAB_CHILD,     /* child of the monitor: a worker, or the launcher of a job */
    NUMALAB_SANDBOXED, /* child of a sandbox, which is the monitor's child */
    NUMALAB_RANK       /* started by an MPI job's launcher */
};

struct numalab_worker {
    enum numalab_worker_kind kind;
    pid_t pid;
    int pid_fd;
    int channel;
    int output;        /* pipe with what the worker prints; -1 once closed */
    int cancel_fd;     /* readable when the monitor is to stop; not owned */
    pid_t sandbox_pid; /* NUMALAB_SANDBOXED: the sandbox, until it has ended; else 0 */
    int sandbox_fd;    /* the sandbox's process descriptor */
    bool is_stopped;
    double paused_before_stop_s; /* pauses of the machine before it was stopped last */
    double still_cpu_s;          /* CPU time when it was stopped, or when that was checked last */
    unsigned late_accounts;      /* how often more CPU time showed afterwards, and was accepted */
    bool is_reaped;
    uint32_t ticket;
    struct numalab_limits limits;
    struct numalab_outcome outcome;

    /* Reported by the worker before it ends; to be believed only once it has ended. */
    bool has_crash_report, has_left;
    struct numalab_message crash_report;
    int leave_code; /* exit code of a rank that leaves */

    size_t rank; /* in its job; 0 of a single worker */
    size_t n;    /* the problem's size, the same in all ranks */
    size_t array_count;
    size_t count[NUMALAB_MAX_ARRAYS]; /* elements of each array */
    size_t bytes[NUMALAB_MAX_ARRAYS];
    uint64_t address[NUMALAB_MAX_ARRAYS];
    uint64_t array_bytes; /* of all arrays */
    bool makes_arrays;    /* the kernel maps the arrays, in a phase of its own */

    double spent_cpu_s, spent_wall_s; /* in requests so far, for limits.phases */

    uint64_t rank_notes;            /* address of struct numalab_rank_notes; 0: it is no rank */
    struct numalab_overrun overrun; /* after the last phase */
    double elapsed_s;               /* of the last request */
    double started_at_s;            /* start of the last request, by CLOCK_MONOTONIC */

    unsigned memory_checks; /* so far */
    uint64_t memfd_bytes;   /* memory that is not resident, when it was checked last */

    char kept_output[NUMALAB_KEPT_OUTPUT_BYTES]; /* the first bytes printed */
    uint64_t printed_bytes;
};

/* Something else to serve while the worker runs a phase. All fields are required. */
struct numalab_watch {
    int fd; /* -1: only serve's timeout counts */
    /* Called when fd is readable, or after timeout_ms. Returns 0, or a negative errno, which ends
     * the request as NUMALAB_OBSTRUCTED. */
    int (*serve)(void *context);
    /* Returns how many milliseconds to wait at most before serve is called; -1: no limit. */
    int (*timeout_ms)(void *context);
    void *context; /* of both; not owned */
};

/* A worker that was not started; numalab_worker_end accepts it. */
extern const struct numalab_worker numalab_no_worker;

/* Each of the following returns 0, or -1 with worker->outcome set. After that only
 * numalab_worker_end may be called. */

/* program: path of the worker. limits: copied. cancel_fd: readable when the monitor is to stop, or
 * -1; not owned. */
int numalab_worker_start(struct numalab_worker *worker, const char *program,
                         const struct numalab_limits *limits, int cancel_fd);

/* Maps the arrays of a problem of size n in the worker; where the driver has a create_phase its
 * kernel does so, and kind is ignored. */
int numalab_worker_allocate(struct numalab_worker *worker, size_t n,
                            const struct numalab_driver *driver, enum numalab_memory_kind kind);

/* Has the kernel free the arrays that it mapped; does nothing where numalab maps them. */
int numalab_worker_release(struct numalab_worker *worker, const struct numalab_driver *driver);

/* Runs a phase and sets elapsed_s. watch: may be NULL. */
int numalab_worker_run(struct numalab_worker *worker, const char *phase,
                       const struct numalab_watch *watch);

/* Sends another request. *descriptor: one that came with the reply, which the caller closes, or
 * -1; descriptor may be NULL. */
int numalab_worker_request(struct numalab_worker *worker, enum numalab_request_kind kind,
                           struct numalab_message *reply, int *descriptor);

/* Sets how many threads the kernel's regions have from now on, in a program that searches for data
 * races or notes stores. Inside the worker, since in its environment the number would give away
 * which run this is. Call it before the arrays are allocated. */
int numalab_worker_set_team(struct numalab_worker *worker, size_t threads);

/* Stop every thread of the worker, and return once all are stopped; continue them. */
int numalab_worker_stop(struct numalab_worker *worker);
int numalab_worker_continue(struct numalab_worker *worker);

/* Stops a worker again that was stopped, and that another process may have continued since, as a
 * batch system continues a whole job. */
int numalab_worker_stop_again(struct numalab_worker *worker);

/* Of a stopped worker: note its CPU time, once it had time to come to rest; then check, as often as
 * needed, that it has taken no more. A system call each. Only where Linux itself accounts for its
 * cores: a virtual machine whose cores are taken away may show late what was done before a stop. */
int numalab_worker_begin_standstill(struct numalab_worker *worker);
int numalab_worker_check_standstill(struct numalab_worker *worker);

/* Returns whether the monitor is to stop. */
bool numalab_worker_is_cancelled(const struct numalab_worker *worker);

/* Read bytes from address in the worker. The first returns 0 or a negative errno and may be called
 * by threads at once; the second sets the outcome where it fails. */
int numalab_worker_read(const struct numalab_worker *worker, uint64_t address, void *buffer,
                        size_t bytes);
int numalab_worker_read_or_fail(struct numalab_worker *worker, uint64_t address, void *buffer,
                                size_t bytes);

/* Write likewise: count pieces, at most 1024, of which local[i] goes to remote[i], an address in
 * the worker, and both are as long; or one piece. */
int numalab_worker_write_vector(const struct numalab_worker *worker, const struct iovec *local,
                                const struct iovec *remote, size_t count);
int numalab_worker_write_vector_or_fail(struct numalab_worker *worker, const struct iovec *local,
                                        const struct iovec *remote, size_t count);
int numalab_worker_write_or_fail(struct numalab_worker *worker, uint64_t address,
                                 const void *buffer, size_t bytes);

/* Sets worker->outcome, whose n stays, as does its step where outcome.doing is NULL. Returns -1. */
int numalab_worker_fail(struct numalab_worker *worker, struct numalab_outcome outcome);

/* The same for a kind without details of its own. */
int numalab_worker_fail_as(struct numalab_worker *worker, enum numalab_outcome_kind kind);

/* Sets the outcome: numalab itself failed at a step (NUMALAB_KIT_ERROR), and nothing of it is the
 * worker's. error: negative errno. Returns -1. */
int numalab_worker_kit_error(struct numalab_worker *worker, const char *doing, int error);

/* Sets the outcome where a step of numalab's in the worker's process failed, or the worker reports
 * so: how the worker has ended, if it has, else NUMALAB_OBSTRUCTED, since it can't be known from
 * outside whether its kernel or the system is at fault. error: negative errno. Returns -1. */
int numalab_worker_fail_obstructed(struct numalab_worker *worker, const char *doing, int error);

/* Kills the worker and all it started, and frees what it left behind. */
void numalab_worker_end(struct numalab_worker *worker);

/* Returns the seconds of CLOCK_MONOTONIC, for measurements; limits go by the heartbeat. */
double numalab_now_s(void);

#endif
