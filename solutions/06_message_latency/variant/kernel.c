/* Lab 06, a variant, a solution. */
#include "message_pattern.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

enum { ADDED = @added@ };

/* By memcpy, since the buffer may start anywhere. */
static void add(void *buffer, size_t bytes)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, buffer, sizeof word);
    word += ADDED;
    memcpy(buffer, &word, sizeof word);
}

/* Gives the buffer to one rank and takes that of another. */
static inline void swap(int rank, int to, int from, void *buffer, size_t bytes)
{
    if (to == rank) return;
    MPI_Sendrecv_replace(buffer, (int)bytes, MPI_BYTE, to, 0, from, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
    add(buffer, bytes);
}

static void take(int from, void *buffer, size_t bytes)
{
    MPI_Recv(buffer, (int)bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    add(buffer, bytes);
}

static void give(int to, const void *buffer, size_t bytes)
{
    MPI_Send(buffer, (int)bytes, MPI_BYTE, to, 0, MPI_COMM_WORLD);
}

/* place: in the chain, which begins with 0. */
static inline void pass_along(int rank, int ranks, int place, void *buffer, size_t bytes)
{
    const int step = place == rank ? 1 : -1; /* to the next one's rank */
    if (place > 0) take(rank - step, buffer, bytes);
    if (place < ranks - 1) {
        give(rank + step, buffer, bytes);
        take(rank + step, buffer, bytes);
    }
    if (place > 0) give(rank - step, buffer, bytes);
}

void relay(int rank, int ranks, void *buffer, size_t bytes, int repetitions)
{
    for (int i = 0; i < repetitions; i++)
        @pattern.c@
}
