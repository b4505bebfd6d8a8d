/* Lab 05: what the arrays hold before the first call of compute, and which elements of
 * the table it looks up. phases.c and driver.c share it. */
#ifndef MEMORY_POLICY_INPUTS_H
#define MEMORY_POLICY_INPUTS_H

#include <stddef.h>
#include <stdint.h>

enum { LOOKUPS = 4 }; /* of the table, for each element of the blocks */

static inline uint64_t mixed(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    i = (i ^ i >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    return i ^ i >> 27;
}

/* Small numbers, whose sums print in full. */
static inline uint64_t table_value(size_t i)
{
    return mixed(i) % 1009;
}
static inline uint64_t blocks_value(size_t i)
{
    return i % 97;
}
static inline uint64_t matrix_value(size_t i)
{
    return i % 89 + 1;
}
static inline uint64_t stream_value(size_t i)
{
    return i % 83;
}
static inline uint64_t others_value(size_t i)
{
    return i % 13 + 1;
}

/* Which element of the table is looked up, for element i, as number k. */
static inline size_t table_index(size_t i, size_t k, size_t n)
{
    return (size_t)(mixed(LOOKUPS * i + k) % n);
}

/* How much of the matrix is written before it changes hands. */
static inline size_t written_before(size_t n)
{
    return n / 8;
}

#endif
