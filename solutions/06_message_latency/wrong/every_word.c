/* Wrong: adds 1 to every word of a message, not only to the first. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

static void add_one(unsigned char *buffer, size_t bytes)
{
    int64_t word;
    for (size_t i = 0; i + sizeof word <= bytes; i += sizeof word) {
        memcpy(&word, buffer + i, sizeof word);
        word++;
        memcpy(buffer + i, &word, sizeof word);
    }
}

static void send_message(const void *buffer, size_t bytes, int partner)
{
    MPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
}

static void receive_message(void *buffer, size_t bytes, int partner)
{
    MPI_Recv(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    add_one(buffer, bytes);
}

void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions)
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
