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
#include "mpi_completion.h"
#include "mpi_requests.h"
#include "numalab/ranks.h"
#include "rank_notes.h"
#include "round_trips.h"

static struct numalab_rank_notes notes = {
    .required = -1, .provided = -1, .answer = NUMALAB_NO_ANSWER};
static struct numalab_trip_state trips = {.notes = &notes.trips};
static atomic_int threads_inside;
static pid_t process;
static uint32_t modes;

/* Of the kernel's OpenMP runtime, where it has one. */
int omp_in_parallel(void) __attribute__((weak));

const struct numalab_rank_notes *numalab_rank_notes(void)
{
    return &notes;
}

void numalab_rank_set_modes(uint32_t requested)
{
    modes = requested;
    if (modes & NUMALAB_IS_BRIEF) numalab_requests_watch(notes.requests);
    numalab_trips_begin(&trips);
}

bool numalab_rank_yields(void)
{
    return modes & NUMALAB_YIELDS;
}

bool numalab_is_brief(void)
{
    return modes & NUMALAB_IS_BRIEF;
}

void numalab_answer(int answer)
{
    notes.answer = answer;
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
    if (modes & NUMALAB_LINGERS && in_parallel)
        nanosleep(&(struct timespec){.tv_nsec = LINGER_NS}, NULL);
}

static int leave(int result)
{
    atomic_fetch_sub(&threads_inside, 1);
    return result;
}

/* MPI's own function of this name, or the program's end: nobody could have called us. */
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
static int32_t other_level(int32_t required)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) return required > 0 ? required - 1 : 0;
    return rank == 1 && required < 3 ? required + 1 : 3;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*real)(int *, char ***, int, int *);
    find("PMPI_Init_thread", &real, sizeof real);
    process = getpid();
    const int result = real(argc, argv, required, provided);
    notes.required = number_of(required);
    if (modes & NUMALAB_OTHER_THREAD_SUPPORT) *provided = level_of(other_level(notes.required));
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
    process = getpid();
    notes.required = notes.provided = 0;
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
    if (modes & NUMALAB_OTHER_THREAD_SUPPORT && notes.provided >= 0)
        *provided = level_of(notes.provided);
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

#define END(count, kind, other) ((struct numalab_trip_end){count, kind, other, comm})

/* Of threads that call MPI in turns, messages are not followed: no ping-pong of the labs has
 * several. */
#define FOLLOW(call)                                                                               \
    do {                                                                                           \
        if (is_main_thread()) call;                                                                \
    } while (0)

/* The same of a call that has done what it was to do. */
#define FOLLOW_RESULT(call)                                                                        \
    do {                                                                                           \
        if (result == MPI_SUCCESS) FOLLOW(call);                                                   \
    } while (0)

static bool sends_wait(void)
{
    return modes & NUMALAB_SYNCHRONOUS_SENDS;
}

#define SEND_PARAMETERS(type)                                                                      \
    (const void *buffer, type count, MPI_Datatype kind, int to, int tag, MPI_Comm comm)
#define SEND_LATER_PARAMETERS(type)                                                                \
    (const void *buffer, type count, MPI_Datatype kind, int to, int tag, MPI_Comm comm,            \
     MPI_Request *request)
#define RECEIVE_PARAMETERS(type)                                                                   \
    (void *buffer, type count, MPI_Datatype kind, int from, int tag, MPI_Comm comm,                \
     MPI_Status *status)
#define RECEIVE_LATER_PARAMETERS(type)                                                             \
    (void *buffer, type count, MPI_Datatype kind, int from, int tag, MPI_Comm comm,                \
     MPI_Request *request)

/* A send, in its place the synchronous one where sends have to wait. */
#define SEND(name, synchronous, type)                                                              \
    int MPI_##name SEND_PARAMETERS(type)                                                           \
    {                                                                                              \
        enter(1);                                                                                  \
        FOLLOW(numalab_trips_send(&trips, END(count, kind, to)));                                  \
        return leave(sends_wait() ? PMPI_##synchronous(buffer, count, kind, to, tag, comm)         \
                                  : PMPI_##name(buffer, count, kind, to, tag, comm));              \
    }
#define SEND_LATER(name, synchronous, type)                                                        \
    int MPI_##name SEND_LATER_PARAMETERS(type)                                                     \
    {                                                                                              \
        enter(1);                                                                                  \
        FOLLOW(numalab_trips_send(&trips, END(count, kind, to)));                                  \
        const int result = sends_wait()                                                            \
                               ? PMPI_##synchronous(buffer, count, kind, to, tag, comm, request)   \
                               : PMPI_##name(buffer, count, kind, to, tag, comm, request);         \
        if (result == MPI_SUCCESS)                                                                 \
            numalab_send_started("MPI_" #name, *request, buffer, count, kind, to);                 \
        return leave(result);                                                                      \
    }
#define PREPARE_SEND(name, synchronous, type)                                                      \
    int MPI_##name SEND_LATER_PARAMETERS(type)                                                     \
    {                                                                                              \
        enter(0);                                                                                  \
        const int result = sends_wait()                                                            \
                               ? PMPI_##synchronous(buffer, count, kind, to, tag, comm, request)   \
                               : PMPI_##name(buffer, count, kind, to, tag, comm, request);         \
        FOLLOW(numalab_trips_prepare(&trips, false, END(count, kind, to), *request));              \
        if (result == MPI_SUCCESS) numalab_send_made(*request, buffer, count, kind, to);           \
        return leave(result);                                                                      \
    }
#define RECEIVE(name, type)                                                                        \
    int MPI_##name RECEIVE_PARAMETERS(type)                                                        \
    {                                                                                              \
        enter(1);                                                                                  \
        const int result = PMPI_##name(buffer, count, kind, from, tag, comm, status);              \
        FOLLOW_RESULT(numalab_trips_receive(&trips, END(count, kind, from)));                      \
        return leave(result);                                                                      \
    }
#define RECEIVE_LATER(name, type)                                                                  \
    int MPI_##name RECEIVE_LATER_PARAMETERS(type)                                                  \
    {                                                                                              \
        enter(1);                                                                                  \
        void *landing = numalab_landing(buffer, count, kind, from);                                \
        const int result = PMPI_##name(landing, count, kind, from, tag, comm, request);            \
        FOLLOW_RESULT(numalab_trips_expect(&trips, END(count, kind, from), *request));             \
        if (result == MPI_SUCCESS)                                                                 \
            numalab_receive_started("MPI_" #name, *request, buffer, landing);                      \
        return leave(result);                                                                      \
    }
#define PREPARE_RECEIVE(name, type)                                                                \
    int MPI_##name RECEIVE_LATER_PARAMETERS(type)                                                  \
    {                                                                                              \
        enter(0);                                                                                  \
        const int result = PMPI_##name(buffer, count, kind, from, tag, comm, request);             \
        FOLLOW(numalab_trips_prepare(&trips, true, END(count, kind, from), *request));             \
        return leave(result);                                                                      \
    }

SEND(Send, Ssend, int)
SEND(Rsend, Ssend, int)
SEND(Ssend, Ssend, int)
SEND(Bsend, Bsend, int)
SEND_LATER(Isend, Issend, int)
SEND_LATER(Irsend, Issend, int)
SEND_LATER(Issend, Issend, int)
SEND_LATER(Ibsend, Ibsend, int)
PREPARE_SEND(Send_init, Ssend_init, int)
PREPARE_SEND(Rsend_init, Ssend_init, int)
PREPARE_SEND(Ssend_init, Ssend_init, int)
PREPARE_SEND(Bsend_init, Bsend_init, int)
RECEIVE(Recv, int)
RECEIVE_LATER(Irecv, int)
PREPARE_RECEIVE(Recv_init, int)

/* Counts may be large, too: Fortran takes these where a count is an integer of 8 bytes. */
#if MPI_VERSION >= 4
SEND(Send_c, Ssend_c, MPI_Count)
SEND(Rsend_c, Ssend_c, MPI_Count)
SEND(Ssend_c, Ssend_c, MPI_Count)
SEND(Bsend_c, Bsend_c, MPI_Count)
SEND_LATER(Isend_c, Issend_c, MPI_Count)
SEND_LATER(Irsend_c, Issend_c, MPI_Count)
SEND_LATER(Issend_c, Issend_c, MPI_Count)
SEND_LATER(Ibsend_c, Ibsend_c, MPI_Count)
PREPARE_SEND(Send_init_c, Ssend_init_c, MPI_Count)
PREPARE_SEND(Rsend_init_c, Ssend_init_c, MPI_Count)
PREPARE_SEND(Ssend_init_c, Ssend_init_c, MPI_Count)
PREPARE_SEND(Bsend_init_c, Bsend_init_c, MPI_Count)
RECEIVE(Recv_c, MPI_Count)
RECEIVE_LATER(Irecv_c, MPI_Count)
PREPARE_RECEIVE(Recv_init_c, MPI_Count)
#endif

#define BOTH_WAYS(type)                                                                            \
    (const void *sent, type sent_count, MPI_Datatype sent_kind, int to, int sent_tag,              \
     void *received, type received_count, MPI_Datatype received_kind, int from, int received_tag,  \
     MPI_Comm comm, MPI_Status *status)
#define REPLACE_PARAMETERS(type)                                                                   \
    (void *buffer, type count, MPI_Datatype kind, int to, int sent_tag, int from,                  \
     int received_tag, MPI_Comm comm, MPI_Status *status)
#define EXCHANGE(name, type)                                                                       \
    int MPI_##name BOTH_WAYS(type)                                                                 \
    {                                                                                              \
        enter(2);                                                                                  \
        FOLLOW(numalab_trips_send(&trips, END(sent_count, sent_kind, to)));                        \
        const int result =                                                                         \
            PMPI_##name(sent, sent_count, sent_kind, to, sent_tag, received, received_count,       \
                        received_kind, from, received_tag, comm, status);                          \
        FOLLOW_RESULT(numalab_trips_receive(&trips, END(received_count, received_kind, from)));    \
        return leave(result);                                                                      \
    }
#define EXCHANGE_IN_PLACE(name, type)                                                              \
    int MPI_##name REPLACE_PARAMETERS(type)                                                        \
    {                                                                                              \
        enter(2);                                                                                  \
        FOLLOW(numalab_trips_send(&trips, END(count, kind, to)));                                  \
        const int result =                                                                         \
            PMPI_##name(buffer, count, kind, to, sent_tag, from, received_tag, comm, status);      \
        FOLLOW_RESULT(numalab_trips_receive(&trips, END(count, kind, from)));                      \
        return leave(result);                                                                      \
    }

EXCHANGE(Sendrecv, int)
EXCHANGE_IN_PLACE(Sendrecv_replace, int)
#if MPI_VERSION >= 4
EXCHANGE(Sendrecv_c, MPI_Count)
EXCHANGE_IN_PLACE(Sendrecv_replace_c, MPI_Count)
#endif

/* A message that was matched before it is received, and nobody asks any more whose it is. */
int MPI_Mrecv(void *buffer, int count, MPI_Datatype kind, MPI_Message *message, MPI_Status *status)
{
    const MPI_Comm comm = MPI_COMM_WORLD;
    enter(1);
    const int result = PMPI_Mrecv(buffer, count, kind, message, status);
    FOLLOW_RESULT(numalab_trips_receive(&trips, END(count, kind, MPI_ANY_SOURCE)));
    return leave(result);
}

/* In a job of two a collective may be a message, and what one rank puts or gets the other
 * neither sends nor receives. */
static int own_rank(MPI_Comm comm)
{
    int rank;
    PMPI_Comm_rank(comm, &rank);
    return rank;
}

#define COLLECT(name, is_receive, count, kind, parameters, arguments)                              \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        enter(1);                                                                                  \
        const int result = PMPI_##name arguments;                                                  \
        FOLLOW_RESULT(                                                                             \
            numalab_trips_collect(&trips, is_receive, END(count, kind, MPI_ANY_SOURCE)));          \
        return leave(result);                                                                      \
    }
#define SPREAD(type) (void *buffer, type count, MPI_Datatype kind, int root, MPI_Comm comm)
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

COLLECT(Bcast, root != own_rank(comm), count, kind, SPREAD(int), (buffer, count, kind, root, comm))
COLLECT(Reduce, root == own_rank(comm), count, kind, REDUCED_TO(int),
        (sent, received, count, kind, operation, root, comm))
COLLECT(Allreduce, true, count, kind, REDUCED(int), (sent, received, count, kind, operation, comm))
#if MPI_VERSION >= 4
COLLECT(Bcast_c, root != own_rank(comm), count, kind, SPREAD(MPI_Count),
        (buffer, count, kind, root, comm))
COLLECT(Reduce_c, root == own_rank(comm), count, kind, REDUCED_TO(MPI_Count),
        (sent, received, count, kind, operation, root, comm))
COLLECT(Allreduce_c, true, count, kind, REDUCED(MPI_Count),
        (sent, received, count, kind, operation, comm))
#endif
COLLECT(Allgather, true, received_count, received_kind, GATHERED,
        (sent, sent_count, sent_kind, received, received_count, received_kind, comm))
COLLECT(Alltoall, true, received_count, received_kind, GATHERED,
        (sent, sent_count, sent_kind, received, received_count, received_kind, comm))

#define REACH(name, first)                                                                         \
    int MPI_##name REMOTE(first)                                                                   \
    {                                                                                              \
        const MPI_Comm comm = MPI_COMM_NULL;                                                       \
        enter(2);                                                                                  \
        FOLLOW(numalab_trips_reach(&trips, END(own_count, own_kind, rank), window));               \
        return leave(                                                                              \
            PMPI_##name(own, own_count, own_kind, rank, displacement, count, kind, window));       \
    }

REACH(Put, const void)
REACH(Get, void)

/* What begins a collective or remote operation whose request has to be completed: its messages are
 * not followed, and count for nobody's round trip. */
#define LATER(messages, name, parameters, arguments)                                               \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        enter(messages);                                                                           \
        const int result = PMPI_##name arguments;                                                  \
        if (result == MPI_SUCCESS) numalab_request_started("MPI_" #name, *request);                \
        return leave(result);                                                                      \
    }
#define GATHERED_LATER                                                                             \
    (const void *sent, int sent_count, MPI_Datatype sent_kind, void *received, int received_count, \
     MPI_Datatype received_kind, MPI_Comm comm, MPI_Request *request)
#define GATHERED_TO_LATER                                                                          \
    (const void *sent, int sent_count, MPI_Datatype sent_kind, void *received, int received_count, \
     MPI_Datatype received_kind, int root, MPI_Comm comm, MPI_Request *request)
#define REMOTE_LATER(first)                                                                        \
    (first * own, int own_count, MPI_Datatype own_kind, int rank, MPI_Aint displacement,           \
     int count, MPI_Datatype kind, MPI_Win window, MPI_Request *request)

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
LATER(1, Iallgather, GATHERED_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, comm, request))
LATER(1, Ialltoall, GATHERED_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, comm, request))
LATER(1, Igather, GATHERED_TO_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, root, comm, request))
LATER(1, Iscatter, GATHERED_TO_LATER,
      (sent, sent_count, sent_kind, received, received_count, received_kind, root, comm, request))
LATER(2, Rput, REMOTE_LATER(const void),
      (own, own_count, own_kind, rank, displacement, count, kind, window, request))
LATER(2, Rget, REMOTE_LATER(void),
      (own, own_count, own_kind, rank, displacement, count, kind, window, request))

/* ---- what has none -------------------------------------------------------------- */

/* The same under both names. */
#define WRAP_BOTH(name, parameters, arguments)                                                     \
    int PMPI_##name parameters                                                                     \
    {                                                                                              \
        static int(*real) parameters;                                                              \
        if (!real) find("PMPI_" #name, &real, sizeof real);                                        \
        enter(0);                                                                                  \
        return leave(real arguments);                                                              \
    }                                                                                              \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        return PMPI_##name arguments;                                                              \
    }

WRAP_BOTH(Barrier, (MPI_Comm comm), (comm))

int PMPI_Start(MPI_Request *request)
{
    static int (*real)(MPI_Request *);
    if (!real) find("PMPI_Start", &real, sizeof real);
    enter(1);
    FOLLOW(numalab_trips_start(&trips, *request));
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
    static int (*real)(int, MPI_Request *);
    if (!real) find("PMPI_Startall", &real, sizeof real);
    enter((uint64_t)count);
    for (int i = 0; i < count; i++) FOLLOW(numalab_trips_start(&trips, requests[i]));
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

/* A function that completes requests, under both names; where they are watched by way of
 * mpi_completion.c. done: what of them it has. */
#define COMPLETES(name, parameters, arguments, count, requests, done)                              \
    int PMPI_##name parameters                                                                     \
    {                                                                                              \
        static int(*real) parameters;                                                              \
        MPI_Request before[NUMALAB_TRIP_REQUESTS];                                                 \
        if (!real) find("PMPI_" #name, &real, sizeof real);                                        \
        enter(0);                                                                                  \
        numalab_trips_keep(before, count, requests);                                               \
        const int result =                                                                         \
            numalab_requests_are_watched() ? numalab_watched_##name arguments : real arguments;    \
        FOLLOW(done);                                                                              \
        return leave(result);                                                                      \
    }                                                                                              \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        return PMPI_##name arguments;                                                              \
    }

void numalab_mpi_has_completed(MPI_Request request)
{
    const MPI_Request before[NUMALAB_TRIP_REQUESTS] = {request};
    FOLLOW(numalab_trips_complete(&trips, before, 0));
}

COMPLETES(Wait, (MPI_Request * request, MPI_Status *status), (request, status), 1, request,
          numalab_trips_complete(&trips, before, 0))
COMPLETES(Waitall, (int count, MPI_Request requests[], MPI_Status statuses[]),
          (count, requests, statuses), count, requests,
          numalab_trips_complete_all(&trips, before, count))
COMPLETES(Waitany, (int count, MPI_Request requests[], int *index, MPI_Status *status),
          (count, requests, index, status), count, requests,
          numalab_trips_complete(&trips, before, *index))
COMPLETES(Waitsome,
          (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
          (count, requests, done, indices, statuses), count, requests,
          numalab_trips_complete_some(&trips, before, *done, indices))
COMPLETES(Test, (MPI_Request * request, int *flag, MPI_Status *status), (request, flag, status), 1,
          request, numalab_trips_complete(&trips, before, *flag ? 0 : -1))
COMPLETES(Testall, (int count, MPI_Request requests[], int *flag, MPI_Status statuses[]),
          (count, requests, flag, statuses), count, requests,
          numalab_trips_complete_all(&trips, before, *flag ? count : 0))
COMPLETES(Testany, (int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status),
          (count, requests, index, flag, status), count, requests,
          numalab_trips_complete(&trips, before, *flag ? *index : -1))
COMPLETES(Testsome,
          (int count, MPI_Request requests[], int *done, int indices[], MPI_Status statuses[]),
          (count, requests, done, indices, statuses), count, requests,
          numalab_trips_complete_some(&trips, before, *done, indices))
