/* Lab 01, the contract: what kernel.c has to define. kernel.f90 defines the same
 * two names as bind(c) subroutines.
 *
 * a, b and c are arrays of n elements each, do not overlap, and are aligned like
 * a float and no better. n can be any number from 1 on. */
#ifndef FIRST_TOUCH_H
#define FIRST_TOUCH_H

#include <stddef.h>

/* a[i] = 0, b[i] = i mod 7, c[i] = 1 for i = 0 .. n-1. Called once, before
 * anything else has touched the arrays. */
void initialize(size_t n, float *a, float *b, float *c);

/* a[i] = a[i] + b[i] * c[i]. Called many times; between two calls some elements
 * of a, b and c may change. */
void compute(size_t n, float *a, const float *b, const float *c);

#endif
