/* What a program that notes its stores has in its memory: how often each thread has written each
 * cache line, and how much of the first array it has loaded. Read by the monitor. */
#ifndef NUMALAB_STORES_H
#define NUMALAB_STORES_H

#include <stdint.h>

/* 4 MiB of lines that one thread each writes, and threads that are told apart. */
enum { NUMALAB_STORE_NOTES = 1 << 16, NUMALAB_NOTED_THREADS = 4096 };

/* Of each of two threads to one line, made by the kit in the end. */
enum { NUMALAB_OWN_STORES = 1000 };

/* One for each line and thread that has written to it; in no order. */
struct numalab_store_note {
    uint64_t line;   /* its first address divided by line_bytes, and 1; 0: there is no note */
    uint32_t thread; /* from 1 on, in the order in which they were first noted */
    uint32_t stores; /* a store over a line's end counts in both */
};

struct numalab_store_notes {
    uint64_t line_bytes;                          /* 0: nothing is noted */
    uint64_t lost;                                /* stores for which there was no room */
    uint64_t loaded_bytes[NUMALAB_NOTED_THREADS]; /* of the first array, by thread - 1 */
    struct numalab_store_note note[NUMALAB_STORE_NOTES];
};

#endif
