/* Notes accesses to memory that the compiler of a watched kernel does not report
 * (grader/src/numalab/harness/noted_accesses.py inserts the calls, on x86-64). */
#ifndef NUMALAB_NOTED_H
#define NUMALAB_NOTED_H

#include <stdbool.h>
#include <stddef.h>

/* The parts of an access's code. */
enum numalab_noted_code {
    NUMALAB_NOTED_BYTES = 0xff,   /* these bits: its bytes, or those of one element */
    NUMALAB_NOTED_WRITE = 1 << 8, /* else it reads */
    NUMALAB_NOTED_ATOMIC = 1 << 9,
    NUMALAB_NOTED_COUNTED = 1 << 10, /* count elements, one behind the other */
    NUMALAB_NOTED_MASKED = 1 << 11,  /* the elements whose bits are set in count, ... */
    NUMALAB_NOTED_ELEMENTS = 16      /* ... of a number that the bits from this one on give */
};

/* Notes an access; defined by the program and called by what the inserted calls reach. pc: the
 * place in the kernel. */
void numalab_noted(void *address, unsigned long code, void *pc, size_t count);

/* Returns the bytes of an access without a mask. */
static inline size_t numalab_noted_bytes(unsigned long code, size_t count)
{
    return (code & NUMALAB_NOTED_BYTES) * (code & NUMALAB_NOTED_COUNTED ? count : 1);
}

/* Notes each element of an access with a mask. Returns false, and notes nothing, without one. */
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
