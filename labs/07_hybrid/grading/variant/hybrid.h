/* Lab 07, a variant, the contract: what kernel.c has to define. kernel.f90 defines the same four
 * names as bind(c) procedures. All are ranks of one MPI job, and its communicator is
 * MPI_COMM_WORLD; MPI runs already, with MPI_THREAD_FUNNELED or more.
 *
 * A field of points lies over the ranks by rows; README.md says which rank has which. `rows` is
 * the rank's own number of them, 1 or more; ranks may differ by one. `columns`, 3 or more, is
 * the same everywhere. A rank's array has rows + 2 rows, one after another: its own, 1 to
 * rows, and a halo row above (0) and below (rows + 1). Point (i, j), i = 0 .. rows + 1 and
 * j = 0 .. columns - 1, is element [i * columns + j]; in Fortran field(j + 1, i) of
 * field(columns, 0:rows+1).
 *
 * The columns 0 and columns - 1 of every row are fixed at 0; the other columns are the inner
 * ones. The two arrays do not overlap, and are aligned as malloc aligns memory.
 *
 * All functions are called by the main thread of every rank, outside parallel regions. */
#ifndef HYBRID_H
#define HYBRID_H

#include <stddef.h>

/* Sets every element of both arrays, the halo rows included. first_row is the number, in the
 * whole field and from 0 on, of the rank's first own row. An inner column of an own row gets
 * (7 * (first_row + i - 1) + 3 * j) % 11, the same in both arrays; all else is 0. Called
 * once, before anything else has touched the arrays. */
void initialize(size_t rows, size_t columns, size_t first_row, double *restrict field,
                double *restrict next);

/* Afterwards halo row 0 is the row of the field above the rank's first own row, and halo row
 * rows + 1 the one below its last, all columns. README.md says what lies beyond the ends of the
 * field. All own rows stay as they are. rank: of the caller, 0 to ranks - 1, and ranks may be
 * 1. Called once before each sweep, with the array that the sweep reads. */
void exchange_halo(int rank, int ranks, size_t rows, size_t columns, double *field);

/* In the inner columns of the own rows next(i, j) is, with f for field,
 *   @point.text@
 * in this order, so that results are the same bit for bit. All else in next stays as it is. */
void sweep(size_t rows, size_t columns, const double *restrict field, double *restrict next);

/* The sum of (next(i, j) - field(i, j))^2 over the inner columns of the own rows of ALL
 * ranks, in each rank. Called after each sweep, with the same arrays. */
double residual(size_t rows, size_t columns, const double *restrict field,
                const double *restrict next);

#endif
