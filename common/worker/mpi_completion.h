/* MPI's functions that complete requests, if numalab_requests_are_watched(): mpi_calls.c, whose
 * functions the kernel calls, calls these in place of MPI's own. Parameters and results are MPI's.
 */
#ifndef NUMALAB_WORKER_MPI_COMPLETION_H
#define NUMALAB_WORKER_MPI_COMPLETION_H

#include <mpi.h>

int numalab_watched_Wait(MPI_Request *request, MPI_Status *status);
int numalab_watched_Test(MPI_Request *request, int *flag, MPI_Status *status);
int numalab_watched_Waitall(int requests, MPI_Request request[], MPI_Status status[]);
int numalab_watched_Testall(int requests, MPI_Request request[], int *flag, MPI_Status status[]);
int numalab_watched_Waitany(int requests, MPI_Request request[], int *index, MPI_Status *status);
int numalab_watched_Testany(int requests, MPI_Request request[], int *index, int *flag,
                            MPI_Status *status);
int numalab_watched_Waitsome(int requests, MPI_Request request[], int *completed, int indices[],
                             MPI_Status status[]);
int numalab_watched_Testsome(int requests, MPI_Request request[], int *completed, int indices[],
                             MPI_Status status[]);

#endif
