/* Lab 02, the contract: what kernel.c has to define. kernel.f90 defines the same three
 * names as bind(c) subroutines.
 *
 * a, b and c are arrays of n elements each, do not overlap, and are aligned like a
 * double and no better. n can be any number from 1 on. */
#ifndef AFFINITY_H
#define AFFINITY_H

/* For sched_getcpu in <sched.h>. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>

/* a[i] = 1, b[i] = 2, c[i] = 0 for i = 0 .. n-1. Called once, before anything else has
 * touched the arrays. */
void initialize(size_t n, double *restrict a, double *restrict b,
                double *restrict c);

/* McCalpin's STREAM, one after another: copy c = a, scale b = s * c, add c = a + b, triad
 * a = b + s * c. Called many times; between two calls some elements of a may change. */
void stream(size_t n, double s, double *restrict a, double *restrict b,
            double *restrict c);

/* The PU on which the calling thread runs at this moment and the NUMA node that the PU
 * belongs to, both as Linux numbers them. Called by all threads at once, many times; a
 * thread may have been moved in between. libnuma and hwloc are linked. */
void locate(int *pu, int *numa_node);

#endif
