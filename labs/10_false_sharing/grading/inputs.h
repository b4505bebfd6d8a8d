/* Lab 10: what the keys are before the first call. phases.c writes them, driver.c knows
 * them from here. */
#ifndef FALSE_SHARING_INPUTS_H
#define FALSE_SHARING_INPUTS_H

#include <stdint.h>

#include "false_sharing.h"

/* No counter is met so often in turn that a processor could tell the next one. */
static inline int32_t initial_key(uint64_t i)
{
    uint64_t mixed = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return (int32_t)((mixed >> 33) % BINS);
}

/* No count. */
static const int64_t initial_count = -1;

/* An element of the array slots: what slots says of one thread, as the monitor reads it. */
struct slot {
    const int64_t *first;
    size_t length;
    size_t is_on_stack; /* 1: of a thread, which other calls have used since */
};

#endif
