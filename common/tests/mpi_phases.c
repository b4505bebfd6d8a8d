/* Ranks that do what students' do by mistake. */
#define _GNU_SOURCE
#include "numalab/phases.h"
#include "numalab/ranks.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int rank_of(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void start(size_t n, void **arrays)
{
    int provided;
    (void)n;
    (void)arrays;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
    numalab_answer(provided >= MPI_THREAD_SERIALIZED);
}

/* Both send before they receive: right as long as MPI keeps the message meanwhile. */
static void head_to_head(size_t n, void **arrays)
{
    const int partner = 1 - rank_of();
    double own = partner;
    (void)n;
    MPI_Send(&own, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(arrays[0], 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* n messages each way, one after another, of one element. */
static void play(size_t n, void **arrays)
{
    const int rank = rank_of();
    MPI_Request request;
    int flag = 0;
    for (size_t i = 0; i < n; i++) {
        if (rank == 0) {
            MPI_Isend(arrays[0], 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
            MPI_Recv(arrays[0], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        } else {
            MPI_Irecv(arrays[0], 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, &request);
            for (flag = 0; !flag;) MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            MPI_Ssend(arrays[0], 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* Rank 1 says first that it is ready. */
static void play_when_ready(size_t n, void **arrays)
{
    if (rank_of() == 0)
        MPI_Recv(NULL, 0, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    play(n, arrays);
}

/* The same with requests that are started again and again. */
static void play_persistent(size_t n, void **arrays)
{
    const int rank = rank_of();
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Send_init(arrays[0], 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[rank]);
    MPI_Recv_init(arrays[0], 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1 - rank]);
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            MPI_Start(&requests[k]);
            MPI_Waitall(1, &requests[k], &status);
        }
    for (int k = 0; k < 2; k++) MPI_Request_free(&requests[k]);
}

/* A pair, whose halves MPI counts, too. */
static void receive_pair(size_t n, void **arrays)
{
    const int pair[2] = {3, 4}, partner = 1 - rank_of();
    int got[4] = {0};
    MPI_Request request;
    (void)n;
    (void)arrays;
    MPI_Irecv(got, 1, MPI_2INT, partner, 0, MPI_COMM_WORLD, &request);
    MPI_Send(pair, 1, MPI_2INT, partner, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (got[0] != 3 || got[1] != 4 || got[2] || got[3]) abort();
}

/* All there, and then all back. */
static void stream(size_t n, void **arrays)
{
    for (int way = 0; way < 2; way++)
        for (size_t i = 0; i < n; i++) {
            if (way == rank_of())
                MPI_Send(arrays[0], 1, MPI_DOUBLE, 1 - way, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(arrays[0], 1, MPI_DOUBLE, way, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

/* To nobody, and to itself. */
static void play_alone(size_t n, void **arrays)
{
    double room;
    MPI_Request request;
    for (size_t i = 0; i < n; i++) {
        MPI_Send(arrays[0], 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
        MPI_Recv(arrays[0], 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Sendrecv(arrays[0], 1, MPI_DOUBLE, 0, 0, &room, 1, MPI_DOUBLE, 0, 0, MPI_COMM_SELF,
                     MPI_STATUS_IGNORE);
        MPI_Isend(arrays[0], 1, MPI_DOUBLE, rank_of(), 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&room, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Bcast(&room, 1, MPI_DOUBLE, 0, MPI_COMM_SELF);
    }
}

/* Without what is in them. */
static void play_empty(size_t n, void **arrays)
{
    for (size_t i = 0; i < n; i++)
        for (int way = 0; way < 2; way++) {
            if (way == rank_of())
                MPI_Send(arrays[0], 0, MPI_DOUBLE, 1 - way, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(arrays[0], 1, MPI_DOUBLE, way, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
}

static void *add_up(void *sum)
{
    const int own = 1;
    MPI_Allreduce(&own, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    return NULL;
}

/* Once by the main thread, once by another. */
static void add_up_in_threads(size_t n, void **arrays)
{
    pthread_t thread;
    int sum;
    (void)n;
    (void)arrays;
    add_up(&sum);
    if (pthread_create(&thread, NULL, add_up, &sum) == 0) pthread_join(thread, NULL);
}

/* Rank i has n + i elements. Each rank gets the number of the one before it, in a ring. */
static void ring(size_t n, void **arrays)
{
    int size, rank = rank_of();
    double own = rank, before;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + 1) % size, 0, &before, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < n + (size_t)rank; i++) ((double *)arrays[0])[i] = before;
}

/* Everybody waits for somebody to begin. */
static void deadlock(size_t n, void **arrays)
{
    (void)n;
    MPI_Recv(arrays[0], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* n messages, of which each takes its time, as on a busy node: 50 ms or more. */
static void send_slowly(size_t n, void **arrays)
{
    for (size_t i = 0; i < n; i++) {
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
        MPI_Sendrecv_replace(arrays[0], 1, MPI_DOUBLE, 1 - rank_of(), 0, 1 - rank_of(), 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void send_endlessly(size_t n, void **arrays)
{
    for (;;) send_slowly(n, arrays);
}

static void crash_rank(size_t n, void **arrays)
{
    /* Behind what aligning the array to 16 bytes leaves after it. */
    if (rank_of() == 1) ((volatile double *)arrays[0])[n + 2] = 1.0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void exit_rank(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    if (rank_of() == 1) exit(3);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void abort_rank(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    if (rank_of() == 2) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI ends the job: there is no such rank. */
static void fail_rank(size_t n, void **arrays)
{
    (void)n;
    if (rank_of() == 2) MPI_Send(arrays[0], 1, MPI_DOUBLE, 1000, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void print_endlessly(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (;;) puts("still here");
}

/* A message to the other rank and one from it, both of which somebody has to wait for. */
static void start_both(const double *own, double *others, MPI_Request request[2])
{
    const int partner = 1 - rank_of();
    MPI_Irecv(others, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Isend(own, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &request[1]);
}

/* As it should be, in all the ways that there are; the other's number comes to arrays[0]. */
static void complete_all(size_t n, void **arrays)
{
    const int partner = 1 - rank_of();
    double own = rank_of(), others = -1.0, unused = 0.0;
    MPI_Request request[4], again[2];
    MPI_Status status[4];
    int is_done = 0, found = 0, index[2];
    (void)n;
    start_both(&own, &others, request);
    MPI_Irecv(&unused, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request[2]);
    MPI_Isend(&unused, 1, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request[3]);
    MPI_Waitall(4, request, status);
    if (others != partner || status[0].MPI_SOURCE != partner) return;
    start_both(&own, &others, request);
    while (!is_done) MPI_Request_get_status(request[0], &is_done, MPI_STATUS_IGNORE);
    MPI_Request_free(&request[0]);
    MPI_Wait(&request[1], MPI_STATUS_IGNORE);
    start_both(&own, &others, request);
    for (int left = 2; left > 0; left -= found) MPI_Waitsome(2, request, &found, index, status);
    MPI_Send_init(&own, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &again[0]);
    MPI_Recv_init(&others, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &again[1]);
    for (int i = 0; i < 2; i++) {
        own += 1.0; /* it may change while nothing is started */
        MPI_Startall(2, again);
        for (is_done = 0; !is_done;) MPI_Testall(2, again, &is_done, status);
    }
    MPI_Request_free(&again[0]);
    MPI_Request_free(&again[1]);
    *(double *)arrays[0] = others - 2.0;
}

/* What it starts next is done all the same, so that nothing hangs. */
static void leave_request(size_t n, void **arrays)
{
    static double own;
    MPI_Request request[2];
    (void)n;
    start_both(&own, arrays[0], request);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

static void free_request(size_t n, void **arrays)
{
    static double own;
    MPI_Request request[2];
    (void)n;
    start_both(&own, arrays[0], request);
    MPI_Request_free(&request[1]);
    MPI_Wait(&request[0], MPI_STATUS_IGNORE);
}

static void change_while_sending(size_t n, void **arrays)
{
    static double own;
    MPI_Request request[2];
    MPI_Status status[2];
    (void)n;
    start_both(&own, arrays[0], request);
    own += 1.0;
    MPI_Waitall(2, request, status);
}

/* Rank 1's message has come when the barrier ends; arrays[0] gets what is seen of it before
 * MPI_Wait. */
static void read_early(size_t n, void **arrays)
{
    double others = -1.0, own = 7.0;
    MPI_Request request[2];
    MPI_Status status[2];
    (void)n;
    start_both(&own, &others, request);
    MPI_Barrier(MPI_COMM_WORLD);
    *(double *)arrays[0] = *(volatile double *)&others;
    MPI_Waitall(2, request, status);
    if (others != 7.0) *(double *)arrays[0] = others;
}

static void barriers(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (size_t i = 0; i < 100; i++) MPI_Barrier(MPI_COMM_WORLD);
}

const struct numalab_phase numalab_phases[] = {
    {"start", start},
    {"ring", ring},
    {"play", play},
    {"play_when_ready", play_when_ready},
    {"receive_pair", receive_pair},
    {"play_persistent", play_persistent},
    {"play_alone", play_alone},
    {"play_empty", play_empty},
    {"stream", stream},
    {"deadlock", deadlock},
    {"head_to_head", head_to_head},
    {"add_up_in_threads", add_up_in_threads},
    {"send_slowly", send_slowly},
    {"send_endlessly", send_endlessly},
    {"one_crashes", crash_rank},
    {"one_leaves", exit_rank},
    {"one_aborts", abort_rank},
    {"one_errs", fail_rank},
    {"print_endlessly", print_endlessly},
    {"complete_all", complete_all},
    {"leave_one", leave_request},
    {"give_one_up", free_request},
    {"change_while_sending", change_while_sending},
    {"look_too_early", read_early},
    {"barriers", barriers},
    {NULL, NULL},
};
