/* Messages between monitor and worker, each a datagram on a SOCK_SEQPACKET socket. The worker
 * answers each request with one reply that repeats the request's ticket, and may send one fault
 * report before it ends. A rank of an MPI job is started by the launcher: it connects to the
 * monitor's socket and sends NUMALAB_HELLO first; so does the monitor, with the descriptor that the
 * rank is to print to. In a sandbox the process that becomes a worker sends it, too. */
#ifndef NUMALAB_PROTOCOL_H
#define NUMALAB_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "numalab/driver.h"

/* The worker finds its end of a socket pair at this descriptor, unless the environment
 * names a socket to connect to: a path, or a name in the abstract namespace, which a sandbox
 * without network does not see. */
enum { NUMALAB_CHANNEL_FD = 3 };

/* The exit code of a worker that has no channel. */
enum { NUMALAB_EXIT_NO_CHANNEL = 113 };
#define NUMALAB_JOB_VARIABLE "NUMALAB_JOB"

/* Unusual modes of ranks. They are in every request and not in variables, since a kernel can read
 * the environment, which is the same in all runs. */
enum numalab_mode {
    NUMALAB_YIELDS = 1 << 0,            /* ranks that wait leave their core to others */
    NUMALAB_IS_BRIEF = 1 << 1,          /* phases make fewer repetitions (numalab/ranks.h) */
    NUMALAB_SYNCHRONOUS_SENDS = 1 << 2, /* every send waits for its receive */
    NUMALAB_OTHER_THREAD_SUPPORT = 1
                                   << 3, /* MPI gives other levels than the required one: in rank 0
                                            one less, in rank 1 one more, in others the highest */
    NUMALAB_LINGERS = 1 << 4, /* threads stay longer in calls of MPI, so that calls overlap */
    NUMALAB_SHIFTED = 1 << 5  /* in a program with two copies of its kernel: the second, whose
                                 memory begins at another offset (worker/kernel_copy.h) */
};

enum { NUMALAB_MAX_FRAMES = 24, NUMALAB_PHASE_NAME_BYTES = 32 };

/* Untouchable memory before and after every array. */
#define NUMALAB_GUARD_BYTES ((size_t)16 << 20)

enum numalab_request_kind {
    NUMALAB_ALLOCATE = 1, /* arrays of `bytes`, replacing any before */
    NUMALAB_RUN_PHASE,
    NUMALAB_OPEN_USERFAULTFD, /* the reply carries the descriptor */
    NUMALAB_TRAP_INITIALIZE,  /* arm the in-process trace for first writes */
    NUMALAB_TRAP_COMPUTE,     /* arm it for the first access */
    NUMALAB_UNTRAP,
    NUMALAB_OPEN_FILE, /* the reply carries the descriptor of the file that holds
                          NUMALAB_SHARED arrays, one behind the other */
    NUMALAB_RACE,      /* in a program that detects races, or notes stores: threads of numalab's own
                          make a race, or write to one line */
    NUMALAB_SET_TEAM,  /* in such a program: parallel regions have n threads from now on */
    NUMALAB_NOTE_STORES, /* in a program that notes stores: forgets those so far, and notes them
                            from now on by lines of n bytes; the reply has the address */
    NUMALAB_QUIT
};

enum numalab_memory_kind {
    NUMALAB_ANONYMOUS = 0, /* private memory, as malloc would give */
    NUMALAB_SHARED         /* a memory file, of all arrays: its pages can be traced, and taken
                              out and put back by the monitor */
};

struct numalab_request {
    uint32_t kind;
    uint32_t ticket;
    uint32_t memory_kind; /* NUMALAB_ALLOCATE */
    uint32_t array_count; /* NUMALAB_ALLOCATE */
    uint32_t soft_ends;   /* NUMALAB_ALLOCATE: the page behind each array may be read */
    uint32_t modes;       /* those of enum numalab_mode that are on */
    uint32_t line_bytes;  /* of a cache line, as kernels get it; 0: unknown */
    uint64_t n;           /* problem size; or as NUMALAB_SET_TEAM and _NOTE_STORES say */
    uint64_t bytes[NUMALAB_MAX_ARRAYS];   /* NUMALAB_ALLOCATE */
    char phase[NUMALAB_PHASE_NAME_BYTES]; /* NUMALAB_RUN_PHASE */
};

/* A write of a kernel next to its own memory, in a program that watches the memory around it. */
enum numalab_overrun_kind {
    NUMALAB_NO_OVERRUN = 0,
    NUMALAB_VARIABLES_OVERRUN, /* next to its variables */
    NUMALAB_ALLOCATED_OVERRUN  /* next to a block that it has allocated */
};

struct numalab_overrun {
    uint64_t kind;  /* enum numalab_overrun_kind */
    uint64_t bytes; /* NUMALAB_ALLOCATED_OVERRUN: the requested size of the block */
};

enum numalab_message_kind {
    NUMALAB_REPLY = 1,
    NUMALAB_FAULT,
    NUMALAB_HELLO, /* ticket: the rank, as the launcher gave it */
    NUMALAB_LEAVE  /* of a rank that calls exit; ticket: its exit code */
};

/* One entry of the in-process trace, which is in the order of the accesses. */
struct numalab_trap_entry {
    uint64_t address;
    int32_t thread_id;
    int32_t is_write;
    int32_t pu;            /* on which the thread was; -1: not known */
    int32_t allowed_count; /* number of PUs on which it may run; 0: not known */
};

/* Room for a read and a write of each page, and for threads that collide. */
#define NUMALAB_TRAP_LOG_ENTRIES(pages) (8 * (pages) + 1024)

/* The faults of a rank with the requests that it has started. */
enum numalab_request_fault {
    NUMALAB_NEVER_COMPLETED, /* not completed so far */
    NUMALAB_GIVEN_UP,        /* freed by MPI_Request_free before it was complete */
    NUMALAB_SEND_CHANGED,    /* the buffer of a send was changed before it was complete */
    NUMALAB_REQUEST_FAULTS   /* their number */
};
enum { NUMALAB_REQUEST_FRAMES = 6, NUMALAB_CALL_BYTES = 24 };

struct numalab_request_note {
    uint64_t count;                         /* requests with this fault; 0: nothing below counts */
    uint64_t frame[NUMALAB_REQUEST_FRAMES]; /* where the first of them was started: offsets into the
                                               worker's file, innermost first; 0: no more */
    char call[NUMALAB_CALL_BYTES];          /* the MPI function that started it */
};

/* A rank's counts of messages between it and other ranks, without those to itself and to
 * MPI_PROC_NULL. */
struct numalab_trips {
    uint64_t sent, sent_bytes;
    uint64_t received; /* completed receives */
    uint64_t ahead;    /* sends that began while two or more before them had not been answered */
};

/* A rank's notes on itself, in its own memory. Levels of thread support are MPI's order, 0 to 3;
 * -1: not known yet. */
#define NUMALAB_NO_ANSWER INT32_MIN
struct numalab_rank_notes {
    int32_t required; /* level that MPI was started with */
    int32_t provided; /* level that MPI then gave */
    int32_t answer;   /* what the kernel returned when it started MPI; or NUMALAB_NO_ANSWER */
    int32_t padding;
    uint64_t messages;               /* requested, to any rank */
    uint64_t main_calls;             /* of MPI's communication by the main thread, outside of ... */
    uint64_t main_calls_in_parallel; /* ... and in parallel regions */
    uint64_t other_calls;            /* of it by other threads */
    uint64_t calls_at_once;          /* of it begun while another thread was in one */
    struct numalab_request_note requests[NUMALAB_REQUEST_FAULTS];
    struct numalab_trips trips;
};

struct numalab_message {
    uint32_t kind;
    uint32_t ticket;
    int32_t error; /* 0 or a negative errno */
    int32_t signal_number;
    uint64_t address[NUMALAB_MAX_ARRAYS]; /* NUMALAB_ALLOCATE, NUMALAB_RUN_PHASE: the arrays */
    uint64_t trap_log;                    /* NUMALAB_TRAP_*: entries ... */
    uint64_t trap_count;                  /* ... and NUMALAB_UNTRAP: their number */
    uint64_t rank_notes;                  /* NUMALAB_REPLY of a rank; else 0 */
    uint64_t store_notes;                 /* NUMALAB_NOTE_STORES: struct numalab_store_notes */
    struct numalab_overrun overrun;       /* NUMALAB_RUN_PHASE, NUMALAB_FAULT: the first one */
    uint64_t fault_address;               /* NUMALAB_FAULT */
    int32_t fault_is_write;               /* 1, 0, or -1 when unknown */
    int32_t fault_has_address;            /* 0 when the signal carries none */
    uint32_t frame_count;
    int32_t system_call;                /* NUMALAB_FAULT by SIGSYS: the number that was refused */
    int32_t is_trap;                    /* NUMALAB_FAULT by SIGILL: 1 at an instruction that a
                                           compiler puts where it found behaviour undefined */
    uint64_t frame[NUMALAB_MAX_FRAMES]; /* offsets into the worker's file,
                                           innermost first; 0: in another file */
};

#endif
