/* The two copies of its kernel that a program that notes stores has, so that an array that begins
 * at a cache line by chance does not in both. Each copy's variables are between two unused
 * stretches: a write there missed them. */
#ifndef NUMALAB_KERNEL_COPY_H
#define NUMALAB_KERNEL_COPY_H

#include <stddef.h>

#include "numalab/phases.h"

/* The second copy's memory begins SHIFT_BYTES after a multiple of BASE_BYTES. If a block of 6
 * counters or more is padded to a line of 64 bytes and not aligned, it crosses a line's end at one
 * of two addresses that are half a line apart. */
enum { NUMALAB_BASE_BYTES = 256, NUMALAB_SHIFT_BYTES = 32 };

/* Bytes of the stretches behind the variables: of those in .bss, and of those with values. */
enum { NUMALAB_TRAILING_CLEARED = 64 << 10, NUMALAB_TRAILING_SET = 4 << 10 };

/* The value of the first byte of the stretches with values; all other bytes of stretches are 0. */
enum { NUMALAB_FIRST_SET = 1 };

struct numalab_kernel_copy {
    const struct numalab_phase *phases;
    const unsigned char *leading_cleared, *leading_set, *trailing_cleared, *trailing_set;
    size_t leading_bytes;
};

/* The copies, by kernel_copy.c. */
extern const struct numalab_kernel_copy numalab_copy_0, numalab_copy_1;

#endif
