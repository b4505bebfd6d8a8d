/* Lab 06, a variant: how the worker calls the kernel. One array as in driver.c: buffer. */
#include "numalab/phases.h"

#include <mpi.h>

#include "inputs.h"
#include "message_pattern.h"
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

static void run_relay(size_t n, void **arrays)
{
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    relay(rank_of_this(), ranks, arrays[0], n, (int)repetitions_of(n, numalab_is_brief()));
}

const struct numalab_phase numalab_phases[] = {
    {"start", run_start},
    {"initialize", run_initialize},
    {"relay", run_relay},
    {NULL, NULL},
};
