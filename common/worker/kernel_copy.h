/* A program that notes stores has two copies of its kernel, so that an array which begins at a
 * cache line by luck does not in both. Of each copy the variables lie between two stretches that
 * are nobody's: what is written there is beside them. */
#ifndef NUMALAB_KERNEL_COPY_H
#define NUMALAB_KERNEL_COPY_H

#include <stddef.h>

#include "numalab/phases.h"

/* Where the second copy's memory begins beside a multiple of BASE_BYTES. Of all places for a block
 * that is padded to a line of 64 bytes and not aligned, blocks of 6 counters or more cross a line's
 * end in one of two that lie half a line apart. */
enum { NUMALAB_BASE_BYTES = 256, NUMALAB_SHIFT_BYTES = 32 };

/* Behind the variables: of those that are cleared, and of those that have values. */
enum { NUMALAB_TRAILING_CLEARED = 64 << 10, NUMALAB_TRAILING_SET = 4 << 10 };

/* All is 0 there, but for the first byte of what has values. */
enum { NUMALAB_FIRST_SET = 1 };

struct numalab_kernel_copy {
    const struct numalab_phase *phases;
    const unsigned char *leading_cleared, *leading_set, *trailing_cleared, *trailing_set;
    size_t leading_bytes;
};

/* The copies, by kernel_copy.c. */
extern const struct numalab_kernel_copy numalab_copy_0, numalab_copy_1;

#endif
