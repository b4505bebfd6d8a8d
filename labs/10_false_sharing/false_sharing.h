/* Lab 10, the contract: what kernel.c has to define. kernel.f90 defines the
 * same two names as bind(c) subroutines.
 *
 * n can be any number from 1 on, and there may be more threads than keys, another
 * number of them in each call. keys is aligned like an int32_t and no better, and
 * changes between two calls. */
#ifndef FALSE_SHARING_H
#define FALSE_SHARING_H

#include <stddef.h>
#include <stdint.h>

enum { BINS = 6, MOST_LINES_APART = 3 };

/* How many bytes a cache line has on the machine that the kernel runs on: a power
 * of two, from 64 on. numalab defines it; Fortran calls it as a bind(c) function of
 * kind c_size_t. */
size_t cache_line_bytes(void);

/* bins[k] = how many of the n keys are k; keys are 0 to BINS - 1. All threads
 * count, as many keys each as the others, in counters of their own. Called many
 * times. */
void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins);

/* Where the thread of that number has counted in the last call of count, key by
 * key: its first counter, for key 0, and how many there are from there on: BINS,
 * or 0 for a thread that did not count. All blocks lie in one array, and from the
 * begin of one to the next there are at most MOST_LINES_APART cache lines. Called
 * outside of parallel regions. */
void slots(int thread, const int64_t **first, size_t *length);

#endif
