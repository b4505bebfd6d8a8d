/* Honest: the receive is there before the message, and anybody may have sent it. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

static void add_one(void *buffer, size_t bytes)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, buffer, sizeof word);
    word++;
    memcpy(buffer, &word, sizeof word);
}

void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions)
{
    const int count = (int)bytes;
    MPI_Request requests[2];
    for (int i = 0; i < repetitions; i++) {
        int first;
        if (rank == 0) MPI_Send(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
        MPI_Irecv(buffer, count, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &requests[0]);
        requests[1] = MPI_REQUEST_NULL;
        MPI_Waitany(2, requests, &first, MPI_STATUS_IGNORE);
        add_one(buffer, bytes);
        if (rank == 0) continue;
        MPI_Isend(buffer, count, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}
