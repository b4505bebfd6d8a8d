/* Wrong: the halo row below is cleared one row too far down. */
#include "hybrid.h"

#include <mpi.h>

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
void initialize(size_t rows, size_t columns, size_t first_row, double *field, double *next)
{
    double *const arrays[] = {field, next};
#pragma omp parallel for schedule(static)
    for (size_t i = 1; i <= rows; i++)
        for (size_t k = 0; k < 2; k++) {
            if (i == 1) clear_row(columns, arrays[k]);
            set_row(columns, first_row + i - 1, arrays[k] + i * columns);
            if (i == rows) clear_row(columns, arrays[k] + (rows + 2) * columns);
        }
}

/* What goes up comes from below, and the other way round. To and from MPI_PROC_NULL nothing
 * goes, so the halo rows of the boundary stay as they are. */
void exchange_halo(int rank, int ranks, size_t rows, size_t columns, double *field)
{
    const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
    const int below = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
    const int count = (int)columns;
    double *first = field + columns, *last = field + rows * columns;
    MPI_Sendrecv(first, count, MPI_DOUBLE, above, 0,
                 last + columns, count, MPI_DOUBLE, below, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(last, count, MPI_DOUBLE, below, 1,
                 field, count, MPI_DOUBLE, above, 1,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

void sweep(size_t rows, size_t columns, const double *field, double *next)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 1; i <= rows; i++) {
        const double *above = field + (i - 1) * columns;
        const double *own = field + i * columns;
        const double *below = field + (i + 1) * columns;
        for (size_t j = 1; j + 1 < columns; j++)
            next[i * columns + j] = 0.25 * (((above[j] + below[j]) + own[j - 1]) + own[j + 1]);
    }
}

/* The threads' sums first, then the ranks'. */
double residual(size_t rows, size_t columns, const double *field, const double *next)
{
    double sum = 0.0;
#pragma omp parallel for schedule(static) reduction(+ : sum)
    for (size_t i = 1; i <= rows; i++)
        for (size_t j = 1; j + 1 < columns; j++) {
            const double difference = next[i * columns + j] - field[i * columns + j];
            sum += difference * difference;
        }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}
