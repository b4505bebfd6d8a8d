/* What all functions that come before MPI's own do, whichever file they are in. */
#ifndef NUMALAB_WORKER_MPI_CALLS_H
#define NUMALAB_WORKER_MPI_CALLS_H

#include <mpi.h>
#include <stddef.h>

/* A call begins that asks for no message, and ends; the second returns its result. */
void numalab_mpi_enter(void);
int numalab_mpi_leave(int result);

/* A request is complete, and still has its handle: MPI_Request_get_status has told. */
void numalab_mpi_has_completed(MPI_Request request);

/* Fills function, a pointer to one, with MPI's own of this name; or ends the program: nobody could
 * have called us. */
void numalab_mpi_find(const char *name, void *function, size_t bytes);

#endif
