/* Lab 10, a variant, the contract: what kernel.c has to define. kernel.f90
 * defines the same two names as bind(c) subroutines.
 *
 * n can be any number from 1 on, and there may be more threads than keys, another
 * number of them in each call. keys is aligned like an int32_t and no better, and
 * changes between two calls. */
#ifndef FALSE_SHARING_H
#define FALSE_SHARING_H

#include <stddef.h>
#include <stdint.h>

enum { BINS = @keys.bins@ };

/* How many bytes a cache line has on the machine that the kernel runs on: a power
 * of two, from 64 on. numalab defines it; Fortran calls it as a bind(c) function of
 * kind c_size_t. */
size_t cache_line_bytes(void);

/* bins[k] = how many of the n keys are k; keys are 0 to BINS - 1. All threads
 * count, as many keys each as the others, each in a block of BINS counters of its
 * own. Blocks lie in room, which begins @offset.bytes@ bytes behind the begin of a cache line
 * and has place for as many lines per thread as a block needs, @keys.lines@ of 64 bytes, and
 * for one line more. Called many times, with the same room. */
void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins, int64_t *restrict room);

/* Where the thread of that number has counted in the last call of count, key by
 * key: its first counter, for key 0, and how many there are from there on: BINS,
 * or 0 for a thread that did not count. From the begin of one block to the next
 * there are at most @keys.lines@ cache lines. Called outside of parallel regions. */
void slots(int thread, const int64_t **first, size_t *length);

#endif
