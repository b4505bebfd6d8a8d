/* Lab 01, a variant, the contract: what kernel.c has to define. kernel.f90 defines the same
 * name as a bind(c) subroutine.
 *
 * a, b and c are arrays of n elements each, do not overlap, and are aligned like a float and no
 * better. n can be any number from 1 on. */
#ifndef FIRST_TOUCH_H
#define FIRST_TOUCH_H

#include <stddef.h>

/* a[i] = 0, b[i] = i mod 7, c[i] = 1 for i = 0 .. n-1. Called once, before anything else has
 * touched the arrays, by the thread that will start compute. */
void initialize(size_t n, float *restrict a, float *restrict b,
                float *restrict c);

#endif
