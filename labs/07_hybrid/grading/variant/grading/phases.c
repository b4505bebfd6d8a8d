/* Lab 07, a variant: how the worker calls the kernel. Arrays as in driver.c: field, next, residual,
 * iteration. */
#include "numalab/phases.h"

#include <mpi.h>
#include <stdint.h>

#include "hybrid.h"
#include "inputs.h"

struct share {
    int rank, ranks;
    size_t rows, columns, first_row;
};

static struct share own_share(size_t n)
{
    struct share own = {.columns = field_columns(n)};
    MPI_Comm_rank(MPI_COMM_WORLD, &own.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &own.ranks);
    own.rows = rank_rows(n, (size_t)own.rank, (size_t)own.ranks);
    own.first_row = rank_first_row(n, (size_t)own.rank, (size_t)own.ranks);
    return own;
}

static void run_start(size_t n, void **arrays)
{
    int provided;
    (void)n;
    (void)arrays;
    /* The team comes before the threads that MPI starts for itself, so that its numbers are
     * the first. The barrier keeps the compiler from leaving the region out. */
#pragma omp parallel
    {
#pragma omp barrier
    }
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
}

static void run_initialize(size_t n, void **arrays)
{
    const struct share own = own_share(n);
    initialize(own.rows, own.columns, own.first_row, arrays[0], arrays[1]);
    *(double *)arrays[2] = initial_residual;
    *(int64_t *)arrays[3] = 0;
}

/* The arrays take turns: odd iterations read field and write next, even ones the other way. */
static void run_iterate(size_t n, void **arrays)
{
    const struct share own = own_share(n);
    int64_t *iteration = arrays[3];
    double *current = arrays[*iteration % 2], *other = arrays[1 - *iteration % 2];
    exchange_halo(own.rank, own.ranks, own.rows, own.columns, current);
    sweep(own.rows, own.columns, current, other);
    *(double *)arrays[2] = residual(own.rows, own.columns, current, other);
    ++*iteration;
}

const struct numalab_phase numalab_phases[] = {
    {"start_mpi", run_start},
    {"initialize", run_initialize},
    {"an iteration", run_iterate},
    {NULL, NULL},
};
