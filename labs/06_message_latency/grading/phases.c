/* Lab 06: how the worker calls the kernel. One array as in driver.c: buffer. */
#include "numalab/phases.h"

#include <mpi.h>

#include "inputs.h"
#include "message_latency.h"
#include "numalab/ranks.h"

static int rank_of_this(void)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static void run_start(size_t n, void **arrays)
{
    int provided;
    (void)n;
    (void)arrays;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
}

static void run_initialize(size_t n, void **arrays)
{
    fill_buffer(arrays[0], n, (size_t)rank_of_this());
}

/* A launch file may have other numbers of ranks: those from 2 on look on, and one alone has
 * nobody to play with. */
static void run_ping_pong(size_t n, void **arrays)
{
    const int rank = rank_of_this();
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (rank < 2 && ranks >= 2)
        ping_pong(rank, 1 - rank, arrays[0], n, (int)repetitions_of(n, numalab_is_brief()));
}

const struct numalab_phase numalab_phases[] = {
    {"start", run_start},
    {"initialize", run_initialize},
    {"ping_pong", run_ping_pong},
    {NULL, NULL},
};
