/* Lab 06, a variant: messages among several ranks. Edit relay here; README.md says what to do.
 *
 * Rank 0 sends to all others, nothing comes back, and nobody adds anything. */
#include "message_pattern.h"

#include <mpi.h>

void relay(int rank, int ranks, void *buffer, size_t bytes, int repetitions)
{
    for (int i = 0; i < repetitions; i++) {
        if (rank > 0) {
            MPI_Recv(buffer, (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
            continue;
        }
        for (int other = 1; other < ranks; other++)
            MPI_Send(buffer, (int)bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
    }
}
