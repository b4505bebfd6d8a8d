/* Watches the requests that a rank's kernel has started and not completed, and their buffers, while
 * results are checked. Before numalab_requests_watch, and while times are taken, all of these
 * functions do nothing. */
#ifndef NUMALAB_WORKER_MPI_REQUESTS_H
#define NUMALAB_WORKER_MPI_REQUESTS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

#include "protocol.h"

/* Watches requests from now on. notes: filled with the faults, one note for each kind; not owned.
 */
void numalab_requests_watch(struct numalab_request_note notes[NUMALAB_REQUEST_FAULTS]);

/* Notes that a request was started. call: the name of the function that started it, a literal. The
 * place of the call is found by itself. */
void numalab_request_started(const char *call, MPI_Request request);

/* The same for a send, whose buffer must not change until the request is complete. */
void numalab_send_started(const char *call, MPI_Request request, const void *buffer,
                          MPI_Count count, MPI_Datatype kind, int destination);

/* Returns where to receive a message for buffer: there, or in memory of numalab's own, from which
 * it is copied to the buffer when the request is completed. A kernel that reads the buffer before
 * gets its former content. */
void *numalab_landing(void *buffer, MPI_Count count, MPI_Datatype kind, int source);

/* As numalab_request_started, for a receive into landing, as numalab_landing returned it. */
void numalab_receive_started(const char *call, MPI_Request request, void *buffer, void *landing);

/* Notes that a persistent request of a send was made. Others need not be known before they are
 * started. */
void numalab_send_made(MPI_Request request, const void *buffer, MPI_Count count, MPI_Datatype kind,
                       int destination);

/* Notes that a persistent request was started. */
void numalab_request_restarted(const char *call, MPI_Request request);

bool numalab_requests_are_watched(void);

/* Notes that requests were completed, with their statuses. Unknown ones, such as those that were
 * complete before, are ignored. */
void numalab_requests_completed(size_t requests, const MPI_Request request[],
                                const MPI_Status *const status[]);

/* Notes that MPI reports a request as complete and keeps its handle. */
void numalab_request_is_complete(MPI_Request request, const MPI_Status *status);

/* Notes that a request was freed by MPI_Request_free, complete or not. */
void numalab_request_freed(MPI_Request request);

#endif
