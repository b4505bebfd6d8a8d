/* Messages between monitor and worker, one a datagram on a SOCK_SEQPACKET
 * socket. The worker answers each request with one reply that repeats the
 * request's ticket, and may send one fault report before it dies. A rank of an MPI job
 * is started by the launcher: it connects to the monitor's socket and first says hello; the
 * monitor does, too, with the descriptor that the rank is to print to. What puts a worker in a
 * sandbox says hello in its place. */
#ifndef NUMALAB_PROTOCOL_H
#define NUMALAB_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#include "numalab/driver.h"

/* The worker finds its end of a socket pair at this descriptor, unless the environment
 * names a socket to connect to: a path, or a name in the abstract namespace, which a sandbox
 * without network does not see. */
enum { NUMALAB_CHANNEL_FD = 3 };
#define NUMALAB_JOB_VARIABLE "NUMALAB_JOB"

/* Of ranks: those that wait let others run on their core. */
#define NUMALAB_YIELD_VARIABLE "NUMALAB_YIELD"

/* Of ranks: every send waits for its receive; MPI names one level of thread support less than
 * it was asked for; threads linger in calls of MPI, so that others meet them there. */
#define NUMALAB_SYNCHRONOUS_VARIABLE "NUMALAB_SYNCHRONOUS_SENDS"
#define NUMALAB_LESS_SUPPORT_VARIABLE "NUMALAB_LESS_SUPPORT"
#define NUMALAB_LINGER_VARIABLE "NUMALAB_LINGER"

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
    NUMALAB_UNMAP_PAGES, /* drop page table entries, keep the contents */
    NUMALAB_RACE,        /* threads of the kit's own race, in a program that looks for that */
    NUMALAB_SET_TEAM,    /* in such a program: parallel regions have n threads from now on */
    NUMALAB_QUIT
};

enum numalab_memory_kind {
    NUMALAB_ANONYMOUS = 0, /* private memory, as malloc would give */
    NUMALAB_SHARED         /* a memory file: can be traced, keeps its contents
                              when its pages are unmapped */
};

struct numalab_request {
    uint32_t kind;
    uint32_t ticket;
    uint32_t memory_kind; /* NUMALAB_ALLOCATE */
    uint32_t array_count; /* NUMALAB_ALLOCATE */
    uint32_t soft_ends;   /* NUMALAB_ALLOCATE: the page behind each array may be read */
    uint32_t padding;
    uint64_t n;
    uint64_t bytes[NUMALAB_MAX_ARRAYS];   /* NUMALAB_ALLOCATE */
    char phase[NUMALAB_PHASE_NAME_BYTES]; /* NUMALAB_RUN_PHASE */
};

enum numalab_message_kind {
    NUMALAB_REPLY = 1,
    NUMALAB_FAULT,
    NUMALAB_HELLO, /* ticket: the rank, as the launcher told it */
    NUMALAB_LEAVE  /* of a rank that calls exit; ticket: its exit code */
};

/* One entry of the in-process trace: which thread touched a page, in order. */
struct numalab_trap_entry {
    uint64_t address;
    int32_t thread_id;
    int32_t is_write;
};

/* Room for a read and a write of each page, and for threads that collide. */
#define NUMALAB_TRAP_LOG_ENTRIES(pages) (8 * (pages) + 1024)

/* What a rank notes of itself, in its own memory. MPI's levels of thread support are 0, 1, 2,
 * 3; -1: nothing yet. */
#define NUMALAB_NO_ANSWER INT32_MIN /* ... this */
struct numalab_rank_notes {
    int32_t asked;    /* level that MPI was started with */
    int32_t provided; /* level that it then named */
    int32_t answer;   /* what the kernel answered when it started MPI, or ... */
    int32_t padding;
    uint64_t messages;   /* sent or received */
    uint64_t main_calls; /* of MPI's communication, by the main thread */
    uint64_t main_calls_in_parallel;
    uint64_t other_calls;
    uint64_t calls_at_once; /* begun while another thread was in one */
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
    uint64_t fault_address;               /* NUMALAB_FAULT */
    int32_t fault_is_write;               /* 1, 0, or -1 when unknown */
    int32_t fault_has_address;            /* 0 when the signal carries none */
    uint32_t frame_count;
    int32_t system_call;                /* NUMALAB_FAULT by SIGSYS: which one was refused */
    uint64_t frame[NUMALAB_MAX_FRAMES]; /* offsets into the worker's file,
                                           innermost first; 0 if elsewhere */
};

#endif
