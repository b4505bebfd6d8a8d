/* Counts the messages that a rank sends to others and receives from them, by which a ping-pong's
 * round trips are known. Messages to itself or to MPI_PROC_NULL do not count.
 *
 * Counting costs some nanoseconds per message. Only the main thread may call these functions. */
#ifndef NUMALAB_WORKER_TRIPS_H
#define NUMALAB_WORKER_TRIPS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/* The most requests that are followed at once. Kernels of the labs have four; further ones are not
 * counted. */
enum { NUMALAB_TRIP_REQUESTS = 256 };

/* One side of a message. */
struct numalab_trip_end {
    int64_t count;
    MPI_Datatype kind;
    int other; /* the other rank in comm, MPI_PROC_NULL or MPI_ANY_SOURCE */
    MPI_Comm comm;
};

struct numalab_trip_request {
    MPI_Request request;
    bool is_receive;
    struct numalab_trip_end end; /* of one that can be started again */
    bool is_unattributed;        /* a receive from MPI_ANY_SOURCE */
};

struct numalab_trip_list {
    size_t count;
    struct numalab_trip_request entry[NUMALAB_TRIP_REQUESTS];
};

/* The state of a rank's counts; all zeros but for notes before the first message. */
struct numalab_trip_state {
    struct numalab_trips *notes; /* the counts; not owned */
    int world_rank;              /* set if has_world_rank */
    bool has_world_rank;
    uint64_t self_sends;                   /* messages to itself that are not received yet */
    uint64_t sent_before, received_before; /* counts when the phase began */
    struct numalab_trip_list due;          /* receives that have not been completed */
    struct numalab_trip_list prepared;     /* persistent requests */
};

/* Notes that a phase begins: messages that one call leaves unanswered, such as one by which a rank
 * reports that it is ready, do not count against the next call. */
void numalab_trips_begin(struct numalab_trip_state *state);

/* Note that a send begins; that a blocking receive has ended; that a non-blocking one begins. */
void numalab_trips_send(struct numalab_trip_state *state, struct numalab_trip_end destination);
void numalab_trips_receive(struct numalab_trip_state *state, struct numalab_trip_end source);
void numalab_trips_expect(struct numalab_trip_state *state, struct numalab_trip_end source,
                          MPI_Request request);

/* Note that a persistent request is made, and that it is started. */
void numalab_trips_prepare(struct numalab_trip_state *state, bool is_receive,
                           struct numalab_trip_end end, MPI_Request request);
void numalab_trips_start(struct numalab_trip_state *state, MPI_Request request);

/* Copies the handles of count requests to previous, since completing requests changes them. If they
 * are more than NUMALAB_TRIP_REQUESTS, the rest is not followed, and its messages do not count. */
void numalab_trips_keep(MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count,
                        const MPI_Request *requests);

/* Note that kept requests are complete: the one with an index, if there is one; the first count
 * ones; those with the count indices in numbers. count may be MPI_UNDEFINED. */
void numalab_trips_complete(struct numalab_trip_state *state,
                            const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int number);
void numalab_trips_complete_all(struct numalab_trip_state *state,
                                const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count);
void numalab_trips_complete_some(struct numalab_trip_state *state,
                                 const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count,
                                 const int *numbers);

/* Notes a collective operation in which the rank sends as root, or receives. In a job of two ranks
 * it may serve as a message. */
void numalab_trips_collect(struct numalab_trip_state *state, bool is_receive,
                           struct numalab_trip_end contribution);

/* Notes a one-sided access to another rank, which that rank neither sends nor receives: it counts
 * as a send and as a receive. */
void numalab_trips_reach(struct numalab_trip_state *state, struct numalab_trip_end target,
                         MPI_Win window);

#endif
