/* Ranks that do what students' do by mistake. */
#include "numalab/phases.h"

#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

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
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
}

/* Each rank gets the number of the one before it, in a ring. */
static void ring(size_t n, void **arrays)
{
    int size, rank = rank_of();
    double own = rank, before;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Sendrecv(&own, 1, MPI_DOUBLE, (rank + 1) % size, 0, &before, 1, MPI_DOUBLE,
                 (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (size_t i = 0; i < n; i++) ((double *)arrays[0])[i] = before;
}

/* Everybody waits for somebody to begin. */
static void deadlock(size_t n, void **arrays)
{
    (void)n;
    MPI_Recv(arrays[0], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void one_crashes(size_t n, void **arrays)
{
    if (rank_of() == 1) ((volatile double *)arrays[0])[n] = 1.0;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void one_leaves(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    if (rank_of() == 1) exit(3);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void print_endlessly(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (;;) puts("still here");
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
    {"deadlock", deadlock},
    {"one_crashes", one_crashes},
    {"one_leaves", one_leaves},
    {"print_endlessly", print_endlessly},
    {"barriers", barriers},
    {NULL, NULL},
};
