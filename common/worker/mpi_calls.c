/* MPI's functions as a rank's kernel calls them, on their way to MPI (MPI's profiling
 * interface): notes which threads call, and makes sends wait for their receives where that is
 * asked for.
 *
 * The C and the Fortran bindings both come by here for what has a buffer. Fortran calls
 * PMPI_Init_thread itself, so the start is taken under that name, too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "numalab/ranks.h"
#include "rank_notes.h"

static struct numalab_rank_notes notes = {.asked = -1, .provided = -1, .answer = -1};
static atomic_int threads_inside;
static pid_t process;
static bool sends_wait, less_support; /* looked up once: a message takes less than a lookup */

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

static void add(uint64_t *count)
{
    __atomic_fetch_add(count, 1, __ATOMIC_RELAXED);
}

static bool is_main_thread(void)
{
    static _Thread_local pid_t id;
    if (!id) id = gettid();
    return id == process;
}

static void enter(void)
{
    if (atomic_fetch_add(&threads_inside, 1) > 0) add(&notes.calls_at_once);
    if (!is_main_thread())
        add(&notes.other_calls);
    else if (omp_in_parallel && omp_in_parallel())
        add(&notes.main_calls_in_parallel);
    else
        add(&notes.main_calls);
}

static int leave(int result)
{
    atomic_fetch_sub(&threads_inside, 1);
    return result;
}

/* ---- the start --------------------------------------------------------------- */

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

/* MPI's own function of this name, or the program's end: nobody could have called us. */
static void find(const char *name, void *function, size_t bytes)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    if (!symbol) abort();
    memcpy(function, &symbol, bytes);
}

static void look_up(void)
{
    process = getpid();
    sends_wait = getenv(NUMALAB_SYNCHRONOUS_VARIABLE) != NULL;
    less_support = getenv(NUMALAB_LESS_SUPPORT_VARIABLE) != NULL;
}

int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    int (*real)(int *, char ***, int, int *);
    find("PMPI_Init_thread", &real, sizeof real);
    const int result = real(argc, argv, required, provided);
    look_up();
    notes.asked = number_of(required);
    if (less_support)
        *provided = level_of(notes.asked > 0 ? notes.asked - 1 : 0);
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
    if (less_support && notes.provided >= 0)
        *provided = level_of(notes.provided);
    return result;
}

int MPI_Query_thread(int *provided)
{
    return PMPI_Query_thread(provided);
}

/* ---- messages ---------------------------------------------------------------- */

int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    enter();
    return leave(sends_wait ? PMPI_Ssend(buffer, count, type, to, tag, comm)
                                  : PMPI_Send(buffer, count, type, to, tag, comm));
}

int MPI_Ssend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm)
{
    enter();
    return leave(PMPI_Ssend(buffer, count, type, to, tag, comm));
}

int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    enter();
    return leave(sends_wait ? PMPI_Issend(buffer, count, type, to, tag, comm, request)
                                  : PMPI_Isend(buffer, count, type, to, tag, comm, request));
}

int MPI_Send_init(const void *buffer, int count, MPI_Datatype type, int to, int tag,
                  MPI_Comm comm, MPI_Request *request)
{
    enter();
    return leave(sends_wait ? PMPI_Ssend_init(buffer, count, type, to, tag, comm, request)
                                  : PMPI_Send_init(buffer, count, type, to, tag, comm, request));
}

int MPI_Recv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    enter();
    return leave(PMPI_Recv(buffer, count, type, from, tag, comm, status));
}

int MPI_Irecv(void *buffer, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    enter();
    return leave(PMPI_Irecv(buffer, count, type, from, tag, comm, request));
}

int MPI_Sendrecv(const void *sent, int sent_count, MPI_Datatype sent_type, int to, int sent_tag,
                 void *received, int received_count, MPI_Datatype received_type, int from,
                 int received_tag, MPI_Comm comm, MPI_Status *status)
{
    enter();
    return leave(PMPI_Sendrecv(sent, sent_count, sent_type, to, sent_tag, received,
                               received_count, received_type, from, received_tag, comm, status));
}

int MPI_Sendrecv_replace(void *buffer, int count, MPI_Datatype type, int to, int sent_tag,
                         int from, int received_tag, MPI_Comm comm, MPI_Status *status)
{
    enter();
    return leave(PMPI_Sendrecv_replace(buffer, count, type, to, sent_tag, from, received_tag,
                                       comm, status));
}

int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    enter();
    return leave(PMPI_Bcast(buffer, count, type, root, comm));
}

int MPI_Reduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
               int root, MPI_Comm comm)
{
    enter();
    return leave(PMPI_Reduce(sent, received, count, type, op, root, comm));
}

int MPI_Allreduce(const void *sent, void *received, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    enter();
    return leave(PMPI_Allreduce(sent, received, count, type, op, comm));
}

int MPI_Allgather(const void *sent, int sent_count, MPI_Datatype sent_type, void *received,
                  int received_count, MPI_Datatype received_type, MPI_Comm comm)
{
    enter();
    return leave(PMPI_Allgather(sent, sent_count, sent_type, received, received_count,
                                received_type, comm));
}
