/* Lab 00: what the arrays hold before the first call, element for element. phases.c
 * writes it into them, driver.c knows it from here. */
#ifndef KNOW_YOUR_NODE_INPUTS_H
#define KNOW_YOUR_NODE_INPUTS_H

#include <stddef.h>
#include <stdint.h>

/* ---- triad: multiples of 2^-30 up to 2^10, too long for single precision. */

static const double initial_s = 3.0;
static const double initial_a = -1.0; /* no sum of what is positive */

static inline double initial_b(size_t i)
{
    return (double)(i % 1021) * (1.0 + 0x1p-30);
}

static inline double initial_c(size_t i)
{
    return (double)(i % 509) * (1.0 + 0x1p-30);
}

/* ---- chase: all n elements are one cycle, in the order of a linear congruential sequence of
 * full period over the next power of two, without the numbers from n on: so each element follows
 * from its index, and neither caches nor TLB nor a prefetcher makes anything of the order. */

/* The next power of two, less one. */
static inline uint64_t cycle_mask(size_t n)
{
    uint64_t mask = 0;
    while (mask + 1 < n) mask = 2 * mask + 1;
    return mask;
}

/* Where element i points to. The constants (Knuth's for 64 bits) are 1 modulo 4, and odd: so the
 * period is full for every power of two. */
static inline size_t initial_next(size_t n, uint64_t mask, size_t i)
{
    uint64_t place = i;
    do place = (place * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) & mask;
    while (place >= n);
    return (size_t)place;
}

/* An array of so many elements is one that is timed. A walk comes to a small part of them, some
 * milliseconds long, so that there are many: who first works out the order of all has more to do
 * than to walk. A shorter one is walked up to twice around. */
enum { LEAST_TIMED_N = 1 << 20, WALK_SHARE = 512 };

static inline size_t walk_steps(size_t n)
{
    return n / WALK_SHARE;
}

static inline size_t initial_start(size_t n)
{
    return n / 2;
}

static inline size_t initial_steps(size_t n)
{
    return walk_steps(n) + 1;
}

/* No index. */
static inline size_t initial_reached(size_t n)
{
    return n;
}

#endif
