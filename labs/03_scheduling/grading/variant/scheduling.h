/* Lab 03, a variant, the contract: what kernel.c has to define. kernel.f90 defines the same
 * name as a bind(c) subroutine.
 *
 * All arrays have n elements, do not overlap, and are aligned like a double and no better. n can
 * be any number from 1 on. The kit writes every array before the first call, with the loop in
 * README.md; between two calls any of b and c change. */
#ifndef SCHEDULING_H
#define SCHEDULING_H

#include <stddef.h>

/* a[i] = b[i] + 3 c[i]. Called many times. */
void stream_update(size_t n, double *restrict a, const double *restrict b,
                   const double *restrict c);

#endif
