/* Lab 09, a variant, a solution: the port counts @unit@ bytes, and items begin
 * where the contract says. */
#include "interconnect.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = @unit@ };

static uint64_t largest(int64_t width_bits)
{
    return width_bits == 32 ? UINT32_MAX : UINT64_MAX;
}

/* Unsigned arithmetic is modulo 2^64; the mask makes it modulo 2^32. */
static uint64_t words_between(uint64_t before, uint64_t after, uint64_t most)
{
    return (after - before) & most;
}

void moved(size_t n, int64_t width_bits, const int64_t *restrict readings,
           int64_t *restrict bytes)
{
    const uint64_t most = largest(width_bits);

    for (size_t i = 0; i < n; i++) {
        const uint64_t words = words_between((uint64_t)readings[i],
                                             (uint64_t)readings[i + 1], most);
        bytes[i] = (int64_t)(WORD_BYTES * words);
    }
}

/* Of a counter that stays at most: whether it has only counted. */
static bool has_only_counted(uint64_t before, uint64_t after, uint64_t most)
{
    return before <= after && after != most;
}

/* Of one that goes around: whether it was not cleared, and what the link can
 * carry beyond these words is too little for once more around. */
static bool is_only_meaning(uint64_t words, uint64_t most_words, uint64_t most)
{
    return words <= most_words && most_words - words <= most;
}

void told(size_t n, int64_t width_bits, int64_t sticks,
          int64_t most_bytes_per_ms, const int64_t *restrict moments_ms,
          const int64_t *restrict readings, int64_t *restrict bytes,
          double *restrict mean_bytes_per_s)
{
    const uint64_t most = largest(width_bits);
    int64_t known_bytes = 0, known_ms = 0;

    for (size_t i = 0; i < n; i++) {
        const uint64_t before = (uint64_t)readings[i];
        const uint64_t after = (uint64_t)readings[i + 1];
        const uint64_t words = words_between(before, after, most);
        const int64_t took_ms = moments_ms[i + 1] - moments_ms[i];
        const int64_t most_bytes = most_bytes_per_ms * took_ms;
        const uint64_t most_words = (uint64_t)most_bytes / WORD_BYTES;
        const bool known = sticks ? has_only_counted(before, after, most)
                                  : is_only_meaning(words, most_words, most);

        bytes[i] = known ? (int64_t)(WORD_BYTES * words) : UNKNOWN;
        if (!known) continue;
        known_bytes += bytes[i];
        known_ms += took_ms;
    }
    *mean_bytes_per_s =
        known_ms > 0 ? 1000.0 * (double)known_bytes / (double)known_ms : 0.0;
}

/* Where item i has a number. */
static size_t place_of(size_t i, size_t length, size_t number)
{
    const size_t first = @lies.c@@moved.by@;

    return i * SLOT + (first + number) % SLOT;
}

/* One message: all lengths, a byte each, and behind them the numbers that are
 * in use, side by side. Returns how many bytes that are. */
static size_t pack(size_t n, const int32_t *lengths, const int64_t *slots,
                   uint8_t *content)
{
    uint8_t *next = content + n;

    for (size_t i = 0; i < n; i++) {
        const size_t length = (size_t)lengths[i];

        content[i] = (uint8_t)length;
        for (size_t k = 0; k < length; k++, next += sizeof *slots)
            memcpy(next, slots + place_of(i, length, k), sizeof *slots);
    }
    return (size_t)(next - content);
}

static void unpack(size_t n, const uint8_t *content, int32_t *lengths,
                   int64_t *slots)
{
    const uint8_t *next = content + n;

    for (size_t i = 0; i < n; i++) {
        const size_t length = content[i];

        lengths[i] = content[i];
        for (size_t k = 0; k < length; k++, next += sizeof *slots)
            memcpy(slots + place_of(i, length, k), next, sizeof *slots);
    }
}

void deliver(int rank, int partner, size_t n, int32_t *restrict lengths,
             int64_t *restrict slots)
{
    const size_t most_bytes = n * (1 + SLOT * sizeof *slots);
    uint8_t *content = malloc(most_bytes);

    if (!content) MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0) {
        const size_t bytes = pack(n, lengths, slots, content);
        MPI_Send(content, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    } else {
        MPI_Recv(content, (int)most_bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        unpack(n, content, lengths, slots);
    }
    free(content);
}
