/* Lab 01, the contract: what kernel.c has to define. kernel.f90 defines the same
 * two names as bind(c) subroutines.
 *
 * a, b and c are arrays of n elements each, do not overlap, and are aligned like
 * a float and no better. n can be any number from 1 on.
 *
 * restrict says to the compiler what "do not overlap" says to you: what is
 * written through one of these pointers is read through no other one. Arguments
 * of a Fortran procedure are so without a word. */
#ifndef FIRST_TOUCH_H
#define FIRST_TOUCH_H

#include <stddef.h>

/* a[i] = 0, b[i] = i mod 7, c[i] = 1 for i = 0 .. n-1. Called once, before
 * anything else has touched the arrays. */
void initialize(size_t n, float *restrict a, float *restrict b,
                float *restrict c);

/* a[i] = a[i] + b[i] * c[i]. Called many times; between two calls some elements
 * of a, b and c may change. */
void compute(size_t n, float *restrict a, const float *restrict b,
             const float *restrict c);

#endif
