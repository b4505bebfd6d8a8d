/* Wrong: both ranks exchange their buffers with MPI_Sendrecv_replace, so
 * rank 1 sends before it has received. */
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
    (void)rank;
    for (int i = 0; i < repetitions; i++) {
        MPI_Sendrecv_replace(buffer, (int)bytes, MPI_BYTE, partner, 0, partner, 0,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        add_one(buffer, bytes);
    }
}
