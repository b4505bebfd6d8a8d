/* Lab 07, a variant: what the rows beyond the first and the last one hold, and what a point
 * becomes, as driver.c's oracle does it. */
#ifndef HYBRID_STENCIL_H
#define HYBRID_STENCIL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether exchange_halo sets these rows. */
static const bool border_is_exchanged = true;

/* Rows 0 and n + 1 of the whole field, before it is read. */
static inline void set_border(size_t n, size_t columns, double *field)
{
    double *beyond = field + (n + 1) * columns;
    for (size_t j = 0; j < columns; j++) {
        field[j] = @border.oracle_above@;
        beyond[j] = @border.oracle_below@;
    }
}

/* Of the inner column j; upper, row and lower: rows of the field. */
static inline double stencil(const double *upper, const double *row, const double *lower, size_t j)
{
    (void)upper;
    (void)lower;
    return @point.c@;
}

#endif
