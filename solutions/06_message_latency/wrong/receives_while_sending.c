/* Wrong: the wait for the send comes after the receive into the same buffer. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

/* By memcpy, since the buffer may start anywhere. */
static void add_one(void *buffer, size_t bytes)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, buffer, sizeof word);
    word++;
    memcpy(buffer, &word, sizeof word);
}

void ping_pong(int rank, int partner, void *buffer, size_t bytes,
               int repetitions)
{
    const int count = (int)bytes;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < repetitions; i++) {
        if (rank == 0)
            MPI_Isend(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_one(buffer, bytes);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (rank == 1) MPI_Send(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    }
}
