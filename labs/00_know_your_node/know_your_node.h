/* Lab 00, the contract: what kernel.c has to define. kernel.f90 defines the same
 * two names with bind(c): a subroutine and a function of integer(c_size_t). */
#ifndef KNOW_YOUR_NODE_H
#define KNOW_YOUR_NODE_H

#include <stddef.h>

/* a[i] = b[i] + s * c[i] for i = 0 .. n-1, shared out among all threads.
 *
 * a, b and c have n elements each, do not overlap, and are aligned like a double
 * and no better. n can be any number from 1 on. The kit writes all three before
 * the first call, with a parallel loop and schedule(static). Called many times;
 * between two calls s and any elements of b and c change. */
void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c);

/* Follows next, steps times, from the index start on, and returns the index that
 * it reaches: start for no step, next[start] for one, next[next[start]] for two.
 *
 * Every element of next is the index of an element, counted from 0 in Fortran,
 * too. How many there are is not told: whoever follows them stays inside. They are
 * one cycle, in random order: as many steps as there are elements lead back to
 * where the walk began. Called many times; between two calls start, steps and
 * elements of next change. */
size_t chase(const size_t *next, size_t start, size_t steps);

#endif
