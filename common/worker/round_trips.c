#include "round_trips.h"

/* Sends that may be under way beyond those that were answered. One that begins a round trip is, and
 * one more lets a rank say first that it is ready. */
enum { MOST_UNANSWERED = 2 };

static bool is_itself(struct numalab_trip_state *state, struct numalab_trip_end end)
{
    int own;
    if (end.comm != MPI_COMM_WORLD) {
        PMPI_Comm_rank(end.comm, &own);
        return end.other == own;
    }
    if (!state->has_world_rank) PMPI_Comm_rank(MPI_COMM_WORLD, &state->world_rank);
    state->has_world_rank = true;
    return end.other == state->world_rank;
}

static uint64_t bytes_of(struct numalab_trip_end end)
{
    int bytes = 1;
    if (end.kind != MPI_BYTE) PMPI_Type_size(end.kind, &bytes);
    return end.count > 0 && bytes > 0 ? (uint64_t)end.count * (uint64_t)bytes : 0;
}

void numalab_trips_begin(struct numalab_trip_state *state)
{
    state->sent_before = state->notes->sent;
    state->received_before = state->notes->received;
}

static void note_sent(struct numalab_trip_state *state, struct numalab_trip_end destination)
{
    struct numalab_trips *notes = state->notes;
    const uint64_t sent = notes->sent - state->sent_before;
    const uint64_t received = notes->received - state->received_before;
    if (sent >= received + MOST_UNANSWERED) notes->ahead++;
    notes->sent++;
    notes->sent_bytes += bytes_of(destination);
}

/* A message that anyone may have sent is a rank's own as long as there are such. */
static void note_received(struct numalab_trip_state *state, bool is_unattributed)
{
    if (is_unattributed && state->self_sends > 0)
        state->self_sends--;
    else
        state->notes->received++;
}

void numalab_trips_send(struct numalab_trip_state *state, struct numalab_trip_end destination)
{
    if (destination.other == MPI_PROC_NULL) return;
    if (is_itself(state, destination))
        state->self_sends++;
    else
        note_sent(state, destination);
}

/* Whether a receive may bring something from another rank. */
static bool is_from_others(struct numalab_trip_state *state, struct numalab_trip_end source)
{
    if (source.other == MPI_PROC_NULL) return false;
    if (source.other == MPI_ANY_SOURCE || !is_itself(state, source)) return true;
    if (state->self_sends > 0) state->self_sends--;
    return false;
}

void numalab_trips_receive(struct numalab_trip_state *state, struct numalab_trip_end source)
{
    if (is_from_others(state, source)) note_received(state, source.other == MPI_ANY_SOURCE);
}

static void add(struct numalab_trip_list *list, struct numalab_trip_request request)
{
    if (list->count < NUMALAB_TRIP_REQUESTS) list->entry[list->count++] = request;
}

static struct numalab_trip_request *find(struct numalab_trip_list *list, MPI_Request request)
{
    for (size_t i = list->count; i > 0; i--)
        if (list->entry[i - 1].request == request) return &list->entry[i - 1];
    return NULL;
}

void numalab_trips_expect(struct numalab_trip_state *state, struct numalab_trip_end source,
                          MPI_Request request)
{
    if (!is_from_others(state, source)) return;
    add(&state->due, (struct numalab_trip_request){
                         .request = request, .is_unattributed = source.other == MPI_ANY_SOURCE});
}

void numalab_trips_prepare(struct numalab_trip_state *state, bool is_receive,
                           struct numalab_trip_end end, MPI_Request request)
{
    const struct numalab_trip_request made = {
        .request = request, .is_receive = is_receive, .end = end};
    struct numalab_trip_request *same = find(&state->prepared, request);
    if (same)
        *same = made; /* of one that was freed */
    else
        add(&state->prepared, made);
}

void numalab_trips_start(struct numalab_trip_state *state, MPI_Request request)
{
    const struct numalab_trip_request *made = find(&state->prepared, request);
    if (!made) return;
    if (made->is_receive)
        numalab_trips_expect(state, made->end, request);
    else
        numalab_trips_send(state, made->end);
}

void numalab_trips_keep(MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count,
                        const MPI_Request *requests)
{
    for (int i = 0; i < count && i < NUMALAB_TRIP_REQUESTS; i++) previous[i] = requests[i];
}

void numalab_trips_complete(struct numalab_trip_state *state,
                            const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int number)
{
    if (number < 0 || number >= NUMALAB_TRIP_REQUESTS) return;
    struct numalab_trip_request *done = find(&state->due, previous[number]);
    if (!done) return;
    note_received(state, done->is_unattributed);
    *done = state->due.entry[--state->due.count];
}

void numalab_trips_complete_all(struct numalab_trip_state *state,
                                const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count)
{
    for (int i = 0; i < count; i++) numalab_trips_complete(state, previous, i);
}

void numalab_trips_complete_some(struct numalab_trip_state *state,
                                 const MPI_Request previous[NUMALAB_TRIP_REQUESTS], int count,
                                 const int *numbers)
{
    for (int i = 0; count != MPI_UNDEFINED && i < count; i++)
        numalab_trips_complete(state, previous, numbers[i]);
}

void numalab_trips_collect(struct numalab_trip_state *state, bool is_receive,
                           struct numalab_trip_end contribution)
{
    int size;
    PMPI_Comm_size(contribution.comm, &size);
    if (size < 2) return;
    if (is_receive)
        note_received(state, false);
    else
        note_sent(state, contribution);
}

void numalab_trips_reach(struct numalab_trip_state *state, struct numalab_trip_end target,
                         MPI_Win window)
{
    MPI_Group group;
    int own;
    if (target.other == MPI_PROC_NULL) return;
    PMPI_Win_get_group(window, &group);
    PMPI_Group_rank(group, &own);
    PMPI_Group_free(&group);
    if (target.other == own) return;
    note_sent(state, target);
    note_received(state, false);
}
