/* Lab 04: which elements a call of update visits, and what it adds to each. The kernel
 * of the timed phase and the oracle share it.
 *
 * The table is cut into slices. In each a call visits about one element for every small
 * page, along a linear congruential sequence of full period over the next power of two
 * (positions beyond the slice are left out), and does so for a number of rounds. So the
 * order is random to caches and TLB; the cache lines that hold these elements are few, the
 * pages are all of the table's. The number of threads, each of which takes whole slices,
 * changes nothing, and each call repeats the one before. */
#ifndef UPDATES_H
#define UPDATES_H

#include <stddef.h>
#include <stdint.h>

enum {
    UPDATES_SLICES = 256,
    UPDATES_ROUNDS = 16,
    UPDATES_ELEMENTS_PER_STEP = 512, /* a small page: 4 KiB */
};

struct updates_slice {
    size_t first, count; /* elements of the table */
    uint64_t mask;       /* the power of two, less one */
    uint64_t position;   /* where the sequence is now */
};

/* First element of a slice; of slice number UPDATES_SLICES: the table's end. */
static inline size_t updates_first(size_t n, size_t slice)
{
    return n / UPDATES_SLICES * slice + n % UPDATES_SLICES * slice / UPDATES_SLICES;
}

static inline uint64_t updates_mask(size_t count)
{
    uint64_t mask = 0;
    while (mask + 1 < count) mask = 2 * mask + 1;
    return mask;
}

/* Slice number slice of a table of n elements, before the first step of a round. */
static inline struct updates_slice updates_start(size_t n, size_t slice)
{
    const size_t first = updates_first(n, slice);
    const size_t count = updates_first(n, slice + 1) - first;
    return (struct updates_slice){
        .first = first,
        .count = count,
        .mask = updates_mask(count),
        /* Slices must not be in step: equal low address bits share a cache's sets. */
        .position = (slice + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 16,
    };
}

/* Steps of one round in each slice. Slices differ by one element at most, so this is no
 * more than any one's period, but for an empty one's: no element comes twice per round. */
static inline size_t updates_steps(size_t n)
{
    const size_t largest = (n + UPDATES_SLICES - 1) / UPDATES_SLICES;
    const size_t steps = (size_t)(updates_mask(largest) + 1) / UPDATES_ELEMENTS_PER_STEP;
    return steps > 0 ? steps : 1;
}

/* One step: the position in the slice, which may be beyond its end. The constants (Knuth's
 * for 64 bits) are 1 modulo 4, and odd: so the period is full for every power of two. */
static inline uint64_t updates_step(struct updates_slice *slice)
{
    slice->position = (slice->position * UINT64_C(6364136223846793005) +
                       UINT64_C(1442695040888963407)) & slice->mask;
    return slice->position;
}

/* What a visit adds: odd, and small enough that sums of many calls print in full. */
static inline uint64_t updates_added(size_t element)
{
    return 2 * (element & 511) + 1;
}

#endif
