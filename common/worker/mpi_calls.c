/* MPI's functions as a rank's kernel calls them, on their way to MPI (MPI's profiling
 * interface): notes which threads call and how many messages they ask for, and makes sends wait
 * for their receives where that is asked for.
 *
 * The C and the Fortran bindings both come by here for what has a buffer. For the rest Fortran
 * calls MPI by its PMPI names, so those functions are taken under both. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "channel.h"
#include "mpi_calls.h"
#include "mpi_requests.h"
#include "numalab/brief.h"
#include "numalab/ranks.h"
#include "rank_notes.h"

static struct numalab_rank_notes notes = {.asked = -1, .provided = -1, .answer = NUMALAB_NO_ANSWER};
static atomic_int threads_inside;
static pid_t process;
/* Looked up once: a message takes less than a lookup. */
static bool sends_wait, other_support, lingers;

/* Of the kernel's OpenMP runtime, where it has one. */
int omp_in_parallel(void) __attribute__((weak));

const struct numalab_rank_notes *numalab_rank_notes(void)
{
    return &notes;
}

void numalab_answer(int answer)
{
    notes.answer = answer;
}

static void look_up(void)
{
    process = getpid();
    sends_wait = getenv(NUMALAB_SYNCHRONOUS_VARIABLE) != NULL;
    other_support = getenv(NUMALAB_OTHER_SUPPORT_VARIABLE) != NULL;
    lingers = getenv(NUMALAB_LINGER_VARIABLE) != NULL;
    if (getenv(NUMALAB_BRIEF_VARIABLE)) numalab_requests_watch(notes.requests);
}

static void add(uint64_t *count, uint64_t amount)
{
    __atomic_fetch_add(count, amount, __ATOMIC_RELAXED);
}

static bool is_main_thread(void)
{
    static _Thread_local pid_t id;
    if (!id) id = gettid();
    return id == process;
}

/* A call that asks for so many messages. Threads that may be inside at once seldom are, since a
 * call is short; so in a parallel region they linger, where that is asked for. */
static void enter(uint64_t messages)
{
    enum { LINGER_NS = 50000 };
    const bool in_parallel = omp_in_parallel && omp_in_parallel();
    if (atomic_fetch_add(&threads_inside, 1) > 0) add(&notes.calls_at_once, 1);
    if (!is_main_thread())
        add(&notes.other_calls, 1);
    else if (in_parallel)
        add(&notes.main_calls_in_parallel, 1);
    else
        add(&notes.main_calls, 1);
    add(&notes.messages, messages);
    if (lingers && in_parallel) nanosleep(&(struct timespec){.tv_nsec = LINGER_NS}, NULL);
}

static int leave(int result)
{
    atomic_fetch_sub(&threads_inside, 1);
    return result;
}

void numalab_mpi_enter(void)
{
    enter(0);
}

int numalab_mpi_leave(int result)
{
    return leave(result);
}

static void find(const char *name, void *function, size_t bytes)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) abort();
    memcpy(function, &symbol, bytes);
}

void numalab_mpi_find(const char *name, void *function, size_t bytes)
{
    find(name, function, bytes);
}

/* ---- start and end ------------------------------------------------------------ */

/* Levels may have any values that grow. */
static int32_t number_of(int level)
{
    return level >= MPI_THREAD_MULTIPLE     ? 3
           : level >= MPI_THREAD_SERIALIZED ? 2
           : level >= MPI_THREAD_FUNNELED   ? 1
                                            : 0;
}

static int level_of(int32_t number)
{
    static const int levels[] = {MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
                                 MPI_THREAD_MULTIPLE};
    return levels[number];
}

/* The level that a library provides which has another one than it is asked for. */
static int32_t other_level(int32_t asked)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) return asked > 0 ? asked - 1 : 0;
    return rank == 1 && asked < 3 ? asked + 1 : 3;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*real)(int *, char ***, int, int *);
    find("PMPI_Init_thread", &real, sizeof real);
    look_up();
    const int result = real(argc, argv, required, provided);
    notes.asked = number_of(required);
    if (other_support) *provided = level_of(other_level(notes.asked));
    notes.provided = number_of(*provided);
    return result;
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    return PMPI_Init_thread(argc, argv, required, provided);
}

int PMPI_Init(int *argc, char ***argv)
{
    int (*real)(int *, char ***);
    find("PMPI_Init", &real, sizeof real);
    look_up();
    notes.asked = notes.provided = 0;
    return real(argc, argv);
}

int MPI_Init(int *argc, char ***argv)
{
    return PMPI_Init(argc, argv);
}

/* So that who asks anew is told the same. */
int PMPI_Query_thread(int *provided)
{
    int (*real)(int *);
    find("PMPI_Query_thread", &real, sizeof real);
    const int result = real(provided);
    if (other_support && notes.provided >= 0) *provided = level_of(notes.provided);
    return result;
}

int MPI_Query_thread(int *provided)
{
    return PMPI_Query_thread(provided);
}

/* It ends all ranks, and nobody else would know which one has called. */
int PMPI_Abort(MPI_Comm comm, int code)
{
    int (*real)(MPI_Comm, int);
    find("PMPI_Abort", &real, sizeof real);
    numalab_channel_leave(code);
    return real(comm, code);
}

int MPI_Abort(MPI_Comm comm, int code)
{
    return PMPI_Abort(comm, code);
}

/* ---- what has a buffer --------------------------------------------------------- */

/* A function that goes through: its parameters and arguments in brackets. */
#define THROUGH(messages, name, parameters, arguments)                                             \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        enter(messages);                                                                           \
        return leave(PMPI_##name arguments);                                                       \
    }

/* The same of a send, which is made the synchronous one where sends have to wait. */
#define SEND(messages, name, synchronous, parameters, arguments)                                   \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        enter(messages);                                                                           \
        return leave(sends_wait ? PMPI_##synchronous arguments : PMPI_##name arguments);           \
    }

/* The same of a send that has yet to be completed, ... */
#define SEND_LATER(name, synchronous, type)                                                        \
    int MPI_##name TO_LATER(type)                                                                  \
    {                                                                                              \
        enter(1);                                                                                  \
        const int result = sends_wait                                                              \
                               ? PMPI_##synchronous(buffer, count, kind, to, tag, comm, request)   \
                               : PMPI_##name(buffer, count, kind, to, tag, comm, request);         \
        if (result == MPI_SUCCESS)                                                                 \
            numalab_send_started("MPI_" #name, *request, buffer, count, kind, to);                 \
        return leave(result);                                                                      \
    }

/* ... of one that has yet to be started, ... */
#define SEND_MADE(name, synchronous, type)                                                         \
    int MPI_##name TO_LATER(type)                                                                  \
    {                                                                                              \
        enter(0);                                                                                  \
        const int result = sends_wait                                                              \
                               ? PMPI_##synchronous(buffer, count, kind, to, tag, comm, request)   \
                               : PMPI_##name(buffer, count, kind, to, tag, comm, request);         \
        if (result == MPI_SUCCESS) numalab_send_made(*request, buffer, count, kind, to);           \
        return leave(result);                                                                      \
    }

/* ... of a receive, ... */
#define RECEIVE_LATER(name, type)                                                                  \
    int MPI_##name FROM_LATER(type)                                                                \
    {                                                                                              \
        enter(1);                                                                                  \
        void *landing = numalab_landing(buffer, count, kind, from);                                \
        const int result = PMPI_##name(landing, count, kind, from, tag, comm, request);            \
        if (result == MPI_SUCCESS)                                                                 \
            numalab_receive_started("MPI_" #name, *request, buffer, landing, kind);                \
        return leave(result);                                                                      \
    }

/* ... and of what else there is with a request at its end. */
#define LATER(messages, name, parameters, arguments)                                               \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        enter(messages);                                                                           \
        const int result = PMPI_##name arguments;                                                  \
        if (result == MPI_SUCCESS) numalab_request_started("MPI_" #name, *request);                \
        return leave(result);                                                                      \
    }

#define TO(type) (const void *buffer, type count, MPI_Datatype kind, int to, int tag, MPI_Comm comm)
#define TO_LATER(type)                                                                             \
    (const void *buffer, type count, MPI_Datatype kind, int to, int tag, MPI_Comm comm,            \
     MPI_Request *request)
#define FROM(type)                                                                                 \
    (void *buffer, type count, MPI_Datatype kind, int from, int tag, MPI_Comm comm,                \
     MPI_Status *status)
#define FROM_LATER(type)                                                                           \
    (void *buffer, type count, MPI_Datatype kind, int from, int tag, MPI_Comm comm,                \
     MPI_Request *request)

SEND(1, Send, Ssend, TO(int), (buffer, count, kind, to, tag, comm))
SEND(1, Rsend, Ssend, TO(int), (buffer, count, kind, to, tag, comm))
THROUGH(1, Ssend, TO(int), (buffer, count, kind, to, tag, comm))
THROUGH(1, Bsend, TO(int), (buffer, count, kind, to, tag, comm))
SEND_LATER(Isend, Issend, int)
SEND_LATER(Irsend, Issend, int)
SEND_LATER(Issend, Issend, int)
SEND_LATER(Ibsend, Ibsend, int)
SEND_MADE(Send_init, Ssend_init, int)
SEND_MADE(Rsend_init, Ssend_init, int)
THROUGH(1, Recv, FROM(int), (buffer, count, kind, from, tag, comm, status))
RECEIVE_LATER(Irecv, int)

/* Counts may be large, too: Fortran takes these where a count is an integer of 8 bytes. */
#if MPI_VERSION >= 4
SEND(1, Send_c, Ssend_c, TO(MPI_Count), (buffer, count, kind, to, tag, comm))
SEND(1, Rsend_c, Ssend_c, TO(MPI_Count), (buffer, count, kind, to, tag, comm))
THROUGH(1, Ssend_c, TO(MPI_Count), (buffer, count, kind, to, tag, comm))
THROUGH(1, Bsend_c, TO(MPI_Count), (buffer, count, kind, to, tag, comm))
SEND_LATER(Isend_c, Issend_c, MPI_Count)
SEND_LATER(Irsend_c, Issend_c, MPI_Count)
SEND_LATER(Issend_c, Issend_c, MPI_Count)
SEND_LATER(Ibsend_c, Ibsend_c, MPI_Count)
SEND_MADE(Send_init_c, Ssend_init_c, MPI_Count)
SEND_MADE(Rsend_init_c, Ssend_init_c, MPI_Count)
THROUGH(1, Recv_c, FROM(MPI_Count), (buffer, count, kind, from, tag, comm, status))
RECEIVE_LATER(Irecv_c, MPI_Count)
#endif

#define BOTH_WAYS(type)                                                                            \
    (const void *sent, type sent_count, MPI_Datatype sent_kind, int to, int sent_tag,              \
     void *received, type received_count, MPI_Datatype received_kind, int from, int received_tag,  \
     MPI_Comm comm, MPI_Status *status)
#define IN_PLACE(type)                                                                             \
    (void *buffer, type count, MPI_Datatype kind, int to, int sent_tag, int from,                  \
     int received_tag, MPI_Comm comm, MPI_Status *status)

THROUGH(2, Sendrecv, BOTH_WAYS(int),
        (sent, sent_count, sent_kind, to, sent_tag, received, received_count, received_kind, from,
         received_tag, comm, status))
THROUGH(2, Sendrecv_replace, IN_PLACE(int),
        (buffer, count, kind, to, sent_tag, from, received_tag, comm, status))
#if MPI_VERSION >= 4
THROUGH(2, Sendrecv_c, BOTH_WAYS(MPI_Count),
        (sent, sent_count, sent_kind, to, sent_tag, received, received_count, received_kind, from,
         received_tag, comm, status))
THROUGH(2, Sendrecv_replace_c, IN_PLACE(MPI_Count),
        (buffer, count, kind, to, sent_tag, from, received_tag, comm, status))
#endif

/* In a job of two a collective may be a message, and what one rank puts or gets the other
 * neither sends nor receives. */
#define REDUCED(type)                                                                              \
    (const void *sent, void *received, type count, MPI_Datatype kind, MPI_Op operation,            \
     MPI_Comm comm)
#define REDUCED_TO(type)                                                                           \
    (const void *sent, void *received, type count, MPI_Datatype kind, MPI_Op operation, int root,  \
     MPI_Comm comm)
#define GATHERED                                                                                   \
    (const void *sent, int sent_count, MPI_Datatype sent_kind, void *received, int received_count, \
     MPI_Datatype received_kind, MPI_Comm comm)
#define REMOTE(first)                                                                              \
    (first * own, int own_count, MPI_Datatype own_kind, int rank, MPI_Aint displacement,           \
     int count, MPI_Datatype kind, MPI_Win window)

THROUGH(1, Bcast, (void *buffer, int count, MPI_Datatype kind, int root, MPI_Comm comm),
        (buffer, count, kind, root, comm))
THROUGH(1, Reduce, REDUCED_TO(int), (sent, received, count, kind, operation, root, comm))
THROUGH(1, Allreduce, REDUCED(int), (sent, received, count, kind, operation, comm))
#if MPI_VERSION >= 4
THROUGH(1, Bcast_c, (void *buffer, MPI_Count count, MPI_Datatype kind, int root, MPI_Comm comm),
        (buffer, count, kind, root, comm))
THROUGH(1, Reduce_c, REDUCED_TO(MPI_Count), (sent, received, count, kind, operation, root, comm))
THROUGH(1, Allreduce_c, REDUCED(MPI_Count), (sent, received, count, kind, operation, comm))
#endif
THROUGH(1, Allgather, GATHERED,
        (sent, sent_count, sent_kind, received, received_count, received_kind, comm))
THROUGH(1, Alltoall, GATHERED,
        (sent, sent_count, sent_kind, received, received_count, received_kind, comm))
LATER(1, Ibcast,
      (void *buffer, int count, MPI_Datatype kind, int root, MPI_Comm comm, MPI_Request *request),
      (buffer, count, kind, root, comm, request))
LATER(1, Ireduce,
      (const void *sent, void *received, int count, MPI_Datatype kind, MPI_Op operation, int root,
       MPI_Comm comm, MPI_Request *request),
      (sent, received, count, kind, operation, root, comm, request))
LATER(1, Iallreduce,
      (const void *sent, void *received, int count, MPI_Datatype kind, MPI_Op operation,
       MPI_Comm comm, MPI_Request *request),
      (sent, received, count, kind, operation, comm, request))
LATER(1, Iscan,
      (const void *sent, void *received, int count, MPI_Datatype kind, MPI_Op operation,
       MPI_Comm comm, MPI_Request *request),
      (sent, received, count, kind, operation, comm, request))
#define GATHERED_LATER                                                                             \
    (const void *sent, int sent_count, MPI_Datatype sent_kind, void *received, int received_count, \
     MPI_Datatype received_kind, MPI_Comm comm, MPI_Request *request)
#define GATHERED_TO_LATER                                                                          \
    (const void *sent, int sent_count, MPI_Datatype sent_kind, void *received, int received_count, \
     MPI_Datatype received_kind, int root, MPI_Comm comm, MPI_Request *request)
LATER(1, Iallgather, GATHERED_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, comm, request))
LATER(1, Ialltoall, GATHERED_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, comm, request))
LATER(1, Igather, GATHERED_TO_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, root, comm, request))
LATER(1, Iscatter, GATHERED_TO_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, root, comm, request))
THROUGH(2, Put, REMOTE(const void),
        (own, own_count, own_kind, rank, displacement, count, kind, window))
THROUGH(2, Get, REMOTE(void), (own, own_count, own_kind, rank, displacement, count, kind, window))

#define REMOTE_LATER(first)                                                                        \
    (first * own, int own_count, MPI_Datatype own_kind, int rank, MPI_Aint displacement,           \
     int count, MPI_Datatype kind, MPI_Win window, MPI_Request *request)
LATER(2, Rput, REMOTE_LATER(const void),
      (own, own_count, own_kind, rank, displacement, count, kind, window, request))
LATER(2, Rget, REMOTE_LATER(void),
      (own, own_count, own_kind, rank, displacement, count, kind, window, request))

/* ---- what has none -------------------------------------------------------------- */

/* The same under both names. */
#define THROUGH_BOTH(messages, name, parameters, arguments)                                        \
    int PMPI_##name parameters                                                                     \
    {                                                                                              \
        static int(*real) parameters;                                                              \
        if (!real) find("PMPI_" #name, &real, sizeof real);                                        \
        enter(messages);                                                                           \
        return leave(real arguments);                                                              \
    }                                                                                              \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        return PMPI_##name arguments;                                                              \
    }

THROUGH_BOTH(0, Barrier, (MPI_Comm comm), (comm))

int PMPI_Start(MPI_Request *request)
{
    static int (*real)(MPI_Request *);
    if (!real) find("PMPI_Start", &real, sizeof real);
    enter(1);
    const int result = real(request);
    if (result == MPI_SUCCESS) numalab_request_restarted("MPI_Start", *request);
    return leave(result);
}

int MPI_Start(MPI_Request *request)
{
    return PMPI_Start(request);
}

int PMPI_Startall(int count, MPI_Request requests[])
{
    static int (*real)(int, MPI_Request[]);
    if (!real) find("PMPI_Startall", &real, sizeof real);
    enter((uint64_t)count);
    const int result = real(count, requests);
    for (int i = 0; result == MPI_SUCCESS && i < count; i++)
        numalab_request_restarted("MPI_Startall", requests[i]);
    return leave(result);
}

int MPI_Startall(int count, MPI_Request requests[])
{
    return PMPI_Startall(count, requests);
}

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    static int (*real)(MPI_Comm, MPI_Request *);
    if (!real) find("PMPI_Ibarrier", &real, sizeof real);
    enter(0);
    const int result = real(comm, request);
    if (result == MPI_SUCCESS) numalab_request_started("MPI_Ibarrier", *request);
    return leave(result);
}

int MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    return PMPI_Ibarrier(comm, request);
}
