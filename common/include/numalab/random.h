/* What is drawn by a seed, in the same way wherever it is. What a student's process must not
 * predict has a seed that it does not know. */
#ifndef NUMALAB_RANDOM_H
#define NUMALAB_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Any state will do to begin with. */
static inline uint64_t numalab_splitmix(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

/* A random number's share of all there are: from 0 to below 1. */
static inline double numalab_fraction(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

#endif
