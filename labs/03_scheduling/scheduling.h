/* Lab 03, the contract: what kernel.c has to define. kernel.f90 defines the same
 * two names as bind(c) subroutines.
 *
 * All arrays have n elements, do not overlap, and are aligned like a double and no
 * better. n can be any number from 1 on. The kit writes every array before the first
 * call, with a parallel loop and schedule(static); between two calls any of
 * x, y, z, b and c change. */
#ifndef SCHEDULING_H
#define SCHEDULING_H

#include <stddef.h>

/* e[i] = sum over j < i of 1 / sqrt(r_ij^2 + 1e-6), where r_ij is the distance
 * between the particles i and j; e[0] = 0. Called many times. */
void pair_energy(size_t n, const double *restrict x, const double *restrict y,
                 const double *restrict z, double *restrict e);

/* a[i] = b[i] + 3 c[i]. Called many times. */
void stream_update(size_t n, double *restrict a, const double *restrict b,
                   const double *restrict c);

#endif
