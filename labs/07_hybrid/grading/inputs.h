/* How the field lies over the ranks, and what it holds at first; phases.c calls the kernel by
 * it, driver.c knows from here what is right. n is the number of rows of all ranks. */
#ifndef HYBRID_INPUTS_H
#define HYBRID_INPUTS_H

#include <stddef.h>

/* n inner ones and the boundary on both sides. */
static inline size_t field_columns(size_t n)
{
    return n + 2;
}

/* Of a rank's first own row, from 0 on; with rank = ranks, n. */
static inline size_t rank_first_row(size_t n, size_t rank, size_t ranks)
{
    return n * rank / ranks;
}

static inline size_t rank_rows(size_t n, size_t rank, size_t ranks)
{
    return rank_first_row(n, rank + 1, ranks) - rank_first_row(n, rank, ranks);
}

/* Of an inner point: row from 0 on, column from 1 on, both in the whole field. */
static inline double initial_value(size_t row, size_t column)
{
    return (double)((7 * row + 3 * column) % 11);
}

/* No sum of squares. */
static const double initial_residual = -1.0;

#endif
