/* What kernels tell of that are watched: accesses to memory that their compiler tells nobody of
 * (grader/src/numalab/harness/noted_accesses.py puts in the calls, on x86-64). */
#ifndef NUMALAB_NOTED_H
#define NUMALAB_NOTED_H

#include <stdbool.h>
#include <stddef.h>

/* Of a code: how many bytes in its lowest eight bits, and what is done with them. */
enum numalab_noted_code {
    NUMALAB_NOTED_BYTES = 0xff,
    NUMALAB_NOTED_WRITE = 1 << 8,
    NUMALAB_NOTED_ATOMIC = 1 << 9,
    NUMALAB_NOTED_COUNTED = 1 << 10, /* as often as count says */
    NUMALAB_NOTED_MASKED = 1 << 11,  /* elements, those whose bits are set in count, ... */
    NUMALAB_NOTED_ELEMENTS = 16      /* ... of so many: from this bit of the code on */
};

/* Of the program, called by what the kernels call; pc: where in the kernel. */
void numalab_noted(void *address, unsigned long code, void *pc, size_t count);

static inline size_t numalab_noted_bytes(unsigned long code, size_t count)
{
    return (code & NUMALAB_NOTED_BYTES) * (code & NUMALAB_NOTED_COUNTED ? count : 1);
}

/* Tells of each element by itself, where the code says that there is a mask; returns whether. */
static inline bool numalab_noted_by_mask(void *address, unsigned long code, void *pc, size_t mask)
{
    const unsigned long bytes = code & NUMALAB_NOTED_BYTES;
    if (!(code & NUMALAB_NOTED_MASKED)) return false;
    for (unsigned long i = 0; i < code >> NUMALAB_NOTED_ELEMENTS; i++)
        if (mask >> i & 1)
            numalab_noted((char *)address + i * bytes, code & (NUMALAB_NOTED_MASKED - 1), pc, 0);
    return true;
}

#endif
