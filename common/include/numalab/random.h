/* What is drawn by a seed, in the same way wherever it is. What a student's process must not
 * predict has a seed that it does not know, and is drawn by numalab_random_next. */
#ifndef NUMALAB_RANDOM_H
#define NUMALAB_RANDOM_H

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Any state will do to begin with. Each number gives
 * away the state, and so all that follow. */
static inline uint64_t numalab_splitmix(uint64_t *state)
{
    uint64_t mixed = *state += UINT64_C(0x9e3779b97f4a7c15);
    mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ mixed >> 31;
}

static inline uint64_t numalab_rotated(uint64_t word, unsigned bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void numalab_siphash_rounds(uint64_t v[4], int rounds)
{
    for (int i = 0; i < rounds; i++) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = numalab_rotated(v[1], 13) ^ v[0];
        v[3] = numalab_rotated(v[3], 16) ^ v[2];
        v[0] = numalab_rotated(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = numalab_rotated(v[1], 17) ^ v[2];
        v[3] = numalab_rotated(v[3], 21) ^ v[0];
        v[2] = numalab_rotated(v[2], 32);
    }
}

/* SipHash-2-4 (Aumasson, Bernstein, INDOCRYPT 2012) of a message of one word. */
static inline uint64_t numalab_siphash(const uint64_t key[2], uint64_t word)
{
    const uint64_t end = UINT64_C(8) << 56; /* a word has 8 bytes */
    uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                     key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
    v[3] ^= word;
    numalab_siphash_rounds(v, 2);
    v[0] ^= word;
    v[3] ^= end;
    numalab_siphash_rounds(v, 2);
    v[0] ^= end;
    v[2] ^= 0xff;
    numalab_siphash_rounds(v, 4);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

struct numalab_random {
    uint64_t seed;  /* a record may note it */
    uint64_t drawn; /* so many */
};

/* Who knows what was drawn so far, and not the seed, does not know what follows: the key of a hash
 * of how many there were. A kernel gets such numbers as times and readings, to the last bit, and
 * has this file. */
static inline uint64_t numalab_random_next(struct numalab_random *random)
{
    const uint64_t key[2] = {random->seed, 0};
    return numalab_siphash(key, random->drawn++);
}

/* A random number's share of all there are: from 0 to below 1. */
static inline double numalab_fraction(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

#endif
