/* For the functions that a kernel calls in place of MPI's own, whichever file they are in. */
#ifndef NUMALAB_WORKER_MPI_CALLS_H
#define NUMALAB_WORKER_MPI_CALLS_H

#include <mpi.h>
#include <stddef.h>

/* Note the beginning and the end of a call that requests no message; leave returns result. */
void numalab_mpi_enter(void);
int numalab_mpi_leave(int result);

/* Notes that a request is complete and keeps its handle, as MPI_Request_get_status reports. */
void numalab_mpi_has_completed(MPI_Request request);

/* Fills function, a pointer to a function of `bytes` bytes, with MPI's own function of a name. Ends
 * the program if there is none. */
void numalab_mpi_find(const char *name, void *function, size_t bytes);

#endif
