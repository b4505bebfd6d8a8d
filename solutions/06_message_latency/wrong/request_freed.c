/* Wrong: MPI_Request_free instead of MPI_Wait, and the buffer is used again. */
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

static void send_message(const void *buffer, size_t bytes, int partner)
{
    MPI_Request request;
    MPI_Isend(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
}

static void receive_message(void *buffer, size_t bytes, int partner)
{
    MPI_Recv(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    add_one(buffer, bytes);
}

void ping_pong(int rank, int partner, void *buffer, size_t bytes,
               int repetitions)
{
    for (int i = 0; i < repetitions; i++) {
        if (rank == 0) {
            send_message(buffer, bytes, partner);
            receive_message(buffer, bytes, partner);
        } else {
            receive_message(buffer, bytes, partner);
            send_message(buffer, bytes, partner);
        }
    }
}
