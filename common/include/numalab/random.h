/* Random numbers by a seed, the same on every machine. Numbers that a student's process must not
 * predict have a seed that it does not know, and come from numalab_random_next. */
#ifndef NUMALAB_RANDOM_H
#define NUMALAB_RANDOM_H

#include <stdint.h>

/* Returns the next number of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014). Any first state will do.
 * Each number gives away the state, and so all numbers that follow. */
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

/* Returns SipHash-2-4 (Aumasson, Bernstein, INDOCRYPT 2012) of a message of one word. */
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
    uint64_t drawn; /* the count of numbers so far */
};

/* Returns the next number: a hash of the count of numbers so far, whose key is the seed. Without
 * the seed it can't be predicted from those before it, not even by a kernel that has this file and
 * gets such numbers to the last bit. */
static inline uint64_t numalab_random_next(struct numalab_random *random)
{
    const uint64_t key[2] = {random->seed, 0};
    return numalab_siphash(key, random->drawn++);
}

/* Converts a random number to a fraction, from 0 to below 1. */
static inline double numalab_fraction(uint64_t random)
{
    return (double)(random >> 11) * 0x1p-53;
}

#endif
