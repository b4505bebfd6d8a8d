/* Messages between a rank and others, counted as they are sent and as they have come: what a
 * ping-pong's round trips are known by. A message to itself or to MPI_PROC_NULL is none.
 *
 * Costs some nanoseconds per message, whoever sends it. Only the main thread may call these. */
#ifndef NUMALAB_WORKER_TRIPS_H
#define NUMALAB_WORKER_TRIPS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

/* Requests under way at once that are followed. A kernel of the labs has four at most; what is
 * beyond is not counted. */
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

/* All zeros but for notes, before the first message. */
struct numalab_trip_state {
    struct numalab_trips *notes;
    int world_rank; /* once has_world_rank */
    bool has_world_rank;
    uint64_t self_sends;                   /* sent, and not yet received */
    uint64_t sent_before, received_before; /* of what notes has, when the phase began */
    struct numalab_trip_list due;          /* receives that have not been completed */
    struct numalab_trip_list prepared;     /* persistent requests */
};

/* A phase begins. What one call leaves unanswered, such as a rank that says first that it is ready,
 * is not held against the next. */
void numalab_trips_begin(struct numalab_trip_state *state);

/* A send begins; a blocking receive has ended; a non-blocking one has begun. */
void numalab_trips_send(struct numalab_trip_state *state, struct numalab_trip_end destination);
void numalab_trips_receive(struct numalab_trip_state *state, struct numalab_trip_end source);
void numalab_trips_expect(struct numalab_trip_state *state, struct numalab_trip_end source,
                          MPI_Request request);

/* A persistent request is made, and started. */
void numalab_trips_prepare(struct numalab_trip_state *state, bool is_receive,
                           struct numalab_trip_end end, MPI_Request request);
void numalab_trips_start(struct numalab_trip_state *state, MPI_Request request);

/* What completes requests changes their handles: they are kept before. Of more than there is room
 * for the rest is not followed, and its messages never come. */
void numalab_trips_keep(MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count,
                        const MPI_Request *requests);

/* Of those that were kept the one of this number is complete, if there is such a one; the first
 * count; those that a list names, count of them, which may be MPI_UNDEFINED. */
void numalab_trips_complete(struct numalab_trip_state *state,
                            const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int number);
void numalab_trips_complete_all(struct numalab_trip_state *state,
                                const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count);
void numalab_trips_complete_some(struct numalab_trip_state *state,
                                 const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count,
                                 const int *numbers);

/* A collective operation in which the rank is a root that sends, or one that receives. In a job of
 * two it may be a message. */
void numalab_trips_collect(struct numalab_trip_state *state, bool is_receive,
                           struct numalab_trip_end contribution);

/* What a rank puts or gets, the other neither sends nor receives: it counts as both. */
void numalab_trips_reach(struct numalab_trip_state *state, struct numalab_trip_end target,
                         MPI_Win window);

#endif
