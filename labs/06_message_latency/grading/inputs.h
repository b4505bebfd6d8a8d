/* Lab 06: what the buffers hold before the first call, and how many round trips a call
 * makes. phases.c does it, driver.c knows it from here. */
#ifndef MESSAGE_LATENCY_INPUTS_H
#define MESSAGE_LATENCY_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Enough for a clock to time small messages by; for large ones not more than this many
 * bytes each way. Where results are checked a few do: on a busy node a message takes
 * milliseconds. */
enum {
    MOST_REPETITIONS = 10000,
    BRIEF_REPETITIONS = 50,   /* of messages of a few bytes, ... */
    BRIEFEST_REPETITIONS = 8, /* ... and of others, whose sizes are many */
    FEW_BYTES = 9,
    FEWEST_REPETITIONS = 4,
    MOST_BYTES_EACH_WAY = 16 << 20
};

static inline size_t repetitions_of(size_t bytes, bool is_brief)
{
    const size_t brief = bytes <= FEW_BYTES ? BRIEF_REPETITIONS : BRIEFEST_REPETITIONS;
    const size_t most = is_brief ? brief : MOST_REPETITIONS;
    if (bytes <= MOST_BYTES_EACH_WAY / most) return most;
    const size_t fitting = MOST_BYTES_EACH_WAY / bytes;
    return fitting < FEWEST_REPETITIONS ? FEWEST_REPETITIONS : fitting;
}

/* Bytes are below this prime: a piece that lands in another place is seen, whatever power
 * of two it was moved by, and the sum of a word never overflows. */
enum { BYTE_VALUES = 127 };

/* No byte is the same in two ranks. The first word carries over to its upper half with the
 * third addition. */
static inline void fill_buffer(unsigned char *buffer, size_t bytes, size_t rank)
{
    for (size_t i = 0; i < bytes; i++)
        buffer[i] = (unsigned char)((31 * i + 50 * rank + 17) % BYTE_VALUES);
    const int64_t word = (int64_t)(rank + 1) * INT64_C(0x100000000) - 3;
    if (bytes >= sizeof word) memcpy(buffer, &word, sizeof word);
}

#endif
