/* Lab 07: what the rows beyond the first and the last one hold, and what a point becomes, as
 * driver.c's oracle does it. A variant has others. */
#ifndef HYBRID_STENCIL_H
#define HYBRID_STENCIL_H

#include <stdbool.h>
#include <stddef.h>

/* Whether exchange_halo sets these rows. Here they are 0 at all times. */
static const bool border_is_exchanged = false;

/* Rows 0 and n + 1 of the whole field, before it is read. */
static inline void set_border(size_t n, size_t columns, double *field)
{
    (void)n;
    (void)columns;
    (void)field;
}

/* Of the inner column j; upper, row and lower: rows of the field. */
static inline double stencil(const double *upper, const double *row, const double *lower, size_t j)
{
    return 0.25 * (((upper[j] + lower[j]) + row[j - 1]) + row[j + 1]);
}

#endif
