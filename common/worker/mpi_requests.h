/* The requests that a rank's kernel has started and not completed, and what it does to their
 * buffers meanwhile. They are watched where results are checked; until then, and where times are
 * taken, all of this does nothing. */
#ifndef NUMALAB_WORKER_MPI_REQUESTS_H
#define NUMALAB_WORKER_MPI_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "protocol.h"

/* Watches from now on. notes: where to note what is done wrong, one for each fault. */
void numalab_requests_watch(struct numalab_request_note notes[NUMALAB_REQUEST_FAULTS]);

/* A request was started. call: by which function, a literal; where is found out. */
void numalab_request_started(const char *call, MPI_Request request);

/* The same of a send: its buffer has to stay as it is until then. */
void numalab_send_started(const char *call, MPI_Request request, const void *buffer,
                          MPI_Count count, MPI_Datatype kind, int destination);

/* Where to receive what is for buffer: there, or in memory of the harness's, from which it comes to
 * the buffer when the request is completed and no sooner. Who uses it before finds what was there.
 */
void *numalab_landing(void *buffer, MPI_Count count, MPI_Datatype kind, int source);

/* The same of that receive. landing: as above. */
void numalab_receive_started(const char *call, MPI_Request request, void *buffer, void *landing);

/* A request that can be started again and again was made, of a send. Of others nothing needs to be
 * known before they are started. */
void numalab_send_made(MPI_Request request, const void *buffer, MPI_Count count, MPI_Datatype kind,
                       int destination);
void numalab_request_restarted(const char *call, MPI_Request request);

bool numalab_requests_are_watched(void);

/* Requests were completed, with those statuses. Unknown ones, such as those that were complete
 * before, are left out. */
void numalab_requests_completed(size_t requests, const MPI_Request request[],
                                const MPI_Status *const status[]);

/* MPI has told that a request is complete, which it still keeps. */
void numalab_request_is_complete(MPI_Request request, const MPI_Status *status);

/* A request is given up, complete or not. */
void numalab_request_freed(MPI_Request request);

#endif
