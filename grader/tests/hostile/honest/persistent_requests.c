/* Requests that are made once per call, and started again and again. */
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

void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions)
{
    MPI_Request send, receive;
    MPI_Send_init(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &send);
    MPI_Recv_init(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &receive);
    for (int i = 0; i < 2 * repetitions; i++) {
        const int sends = i % 2 == rank;
        MPI_Request *request = sends ? &send : &receive;
        if (i % 3)
            MPI_Start(request);
        else
            MPI_Startall(1, request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        if (!sends) add_one(buffer, bytes);
    }
    MPI_Request_free(&send);
    MPI_Request_free(&receive);
}
