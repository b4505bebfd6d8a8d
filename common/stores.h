/* The notes in the memory of a program that notes its stores: how often each thread has written
 * each cache line, and how much of the first array it has loaded. The monitor reads them. */
#ifndef NUMALAB_STORES_H
#define NUMALAB_STORES_H

#include <stdint.h>

/* The most notes, enough for 4 MiB of lines with one writer each, and the most threads. */
enum { NUMALAB_STORE_NOTES = 1 << 16, NUMALAB_NOTED_THREADS = 4096 };

/* The stores that each of two threads of numalab's own makes to one line at the end, as a check
 * that stores are noted. */
enum { NUMALAB_OWN_STORES = 1000 };

/* The stores of one thread to one line; notes are in no order. */
struct numalab_store_note {
    uint64_t line;   /* its first address divided by line_bytes, plus 1; 0: there is no note */
    uint32_t thread; /* from 1 on, in the order of the threads' first notes */
    uint32_t stores; /* a store over a line's end counts in both */
};

struct numalab_store_notes {
    uint64_t line_bytes;                          /* 0: nothing is noted */
    uint64_t lost;                                /* stores for which there was no room */
    uint64_t loaded_bytes[NUMALAB_NOTED_THREADS]; /* of the first array, by thread - 1 */
    struct numalab_store_note note[NUMALAB_STORE_NOTES];
};

#endif
