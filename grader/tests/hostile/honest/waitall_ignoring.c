/* Nonblocking, all waited for at once, and no status is asked for: right. */
#include "hybrid.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
int start_mpi(void)
{
    int provided = MPI_THREAD_SINGLE;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    return provided >= MPI_THREAD_FUNNELED;
}

static void clear_row(size_t columns, double *row)
{
    for (size_t j = 0; j < columns; j++) row[j] = 0.0;
}

static void set_row(size_t columns, size_t row_number, double *row)
{
    row[0] = 0.0;
    for (size_t j = 1; j + 1 < columns; j++) row[j] = (double)((7 * row_number + 3 * j) % 11);
    row[columns - 1] = 0.0;
}

/* The loop of sweep, so that each thread touches first what it uses; a halo row goes with
 * the own row beside it. */
void initialize(size_t rows, size_t columns, size_t first_row,
                double *restrict field, double *restrict next)
{
    double *const arrays[] = {field, next};
#pragma omp parallel for schedule(static)
    for (size_t i = 1; i <= rows; i++)
        for (size_t k = 0; k < 2; k++) {
            if (i == 1) clear_row(columns, arrays[k]);
            set_row(columns, first_row + i - 1, arrays[k] + i * columns);
            if (i == rows) clear_row(columns, arrays[k] + (rows + 1) * columns);
        }
}


void exchange_halo(int rank, int ranks, size_t rows, size_t columns, double *field)
{
    MPI_Request r[4];
    int k = 0;
    if (rank > 0) {
        MPI_Isend(field + columns, (int)columns, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &r[k++]);
        MPI_Irecv(field, (int)columns, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &r[k++]);
    }
    if (rank < ranks - 1) {
        MPI_Isend(field + rows * columns, (int)columns, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &r[k++]);
        MPI_Irecv(field + (rows + 1) * columns, (int)columns, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD, &r[k++]);
    }
    MPI_Waitall(k, r, MPI_STATUSES_IGNORE);
}
void sweep(size_t rows, size_t columns, const double *restrict field,
           double *restrict next)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 1; i <= rows; i++) {
        const double *above = field + (i - 1) * columns;
        const double *own = field + i * columns;
        const double *below = field + (i + 1) * columns;
        for (size_t j = 1; j + 1 < columns; j++)
            next[i * columns + j] =
                0.25 * (((above[j] + below[j]) + own[j - 1]) + own[j + 1]);
    }
}

/* The threads' sums first, then the ranks'. */
double residual(size_t rows, size_t columns, const double *restrict field,
                const double *restrict next)
{
    double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j + 1 < columns; j++) {
            const double difference =
                next[i * columns + j] - field[i * columns + j];
            sum += difference * difference;
        }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}
