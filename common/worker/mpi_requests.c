#define _GNU_SOURCE
#include "mpi_requests.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_report.h"

/* A message in a plain type of MPI's own, whose bytes lie one after another; others are not looked
 * into. */
struct message {
    unsigned char *buffer; /* NULL: not looked into */
    size_t bytes;
};

/* The requests that somebody still has to complete, or may start again. */
struct pending_request {
    MPI_Request request;
    bool is_active, is_persistent, is_shared;
    bool is_complete;    /* as MPI_Request_get_status has told */
    struct message sent; /* digest: when it was started */
    uint64_t digest;
    void *buffer, *landing; /* where it is to be received, and where it is instead; or NULL */
    const char *call;
    uint64_t frame[NUMALAB_REQUEST_FRAMES];
};

/* MPI's functions get no argument of ours, so these are state as in fault_report.c. Threads may
 * call at once. */
static struct numalab_request_note *notes; /* NULL: nothing is watched */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending_request *list;
static size_t count, room;

void numalab_requests_watch(struct numalab_request_note request_notes[NUMALAB_REQUEST_FAULTS])
{
    notes = request_notes;
}

/* ---- what is noted --------------------------------------------------------------- */

/* Where the kernel has called: the frames that are in the program, the harness's own first. Calls
 * of Fortran's come through a library of MPI's. */
static void find_callers(uint64_t frame[NUMALAB_REQUEST_FRAMES])
{
    enum { DEPTH = 16 };
    void *caller[DEPTH];
    const int depth = backtrace(caller, DEPTH);
    size_t noted = 0;
    memset(frame, 0, NUMALAB_REQUEST_FRAMES * sizeof *frame);
    for (int i = 0; i < depth && noted < NUMALAB_REQUEST_FRAMES; i++) {
        const uint64_t offset = numalab_program_offset((uintptr_t)caller[i] - 1);
        if (offset) frame[noted++] = offset;
    }
}

static void note(enum numalab_request_fault fault, const struct pending_request *entry)
{
    struct numalab_request_note *of_fault = &notes[fault];
    if (of_fault->count++ > 0) return; /* the first is told */
    memcpy(of_fault->frame, entry->frame, sizeof of_fault->frame);
    snprintf(of_fault->call, sizeof of_fault->call, "%s", entry->call);
}

/* What is not complete now, and may be in a moment. */
static void note_incomplete(void)
{
    notes[NUMALAB_NEVER_COMPLETED] = (struct numalab_request_note){0};
    for (size_t i = 0; i < count; i++)
        if (list[i].is_active && !list[i].is_complete) note(NUMALAB_NEVER_COMPLETED, &list[i]);
}

/* FNV-1a, by words: not one byte may change unseen but by a chance of one in 2^64. */
static uint64_t digest_of(const struct message *message)
{
    uint64_t digest = UINT64_C(0xcbf29ce484222325), word;
    size_t i = 0;
    for (; i + sizeof word <= message->bytes; i += sizeof word) {
        memcpy(&word, message->buffer + i, sizeof word);
        digest = (digest ^ word) * UINT64_C(0x100000001b3);
        digest ^= digest >> 32;
    }
    for (; i < message->bytes; i++)
        digest = (digest ^ message->buffer[i]) * UINT64_C(0x100000001b3);
    return digest;
}

/* partner: to or from whom; nothing goes to nobody. */
static struct message message_of(const void *buffer, MPI_Count elements, MPI_Datatype kind,
                                 int partner)
{
    int integers, addresses, types, combiner, element_bytes;
    MPI_Aint lower, extent;
    if (!notes || partner == MPI_PROC_NULL || elements <= 0 || !buffer || kind == MPI_DATATYPE_NULL)
        return (struct message){0};
    if (PMPI_Type_get_envelope(kind, &integers, &addresses, &types, &combiner) != MPI_SUCCESS ||
        combiner != MPI_COMBINER_NAMED || PMPI_Type_size(kind, &element_bytes) != MPI_SUCCESS ||
        PMPI_Type_get_extent(kind, &lower, &extent) != MPI_SUCCESS || lower != 0 ||
        extent != element_bytes || element_bytes <= 0)
        return (struct message){0};
    /* It is const where it is sent only. */
    return (struct message){(unsigned char *)(uintptr_t)buffer,
                            (size_t)elements * (size_t)element_bytes};
}

/* ---- starts ---------------------------------------------------------------------- */

static struct pending_request *find_pending(MPI_Request request)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].request == request) return &list[i];
    return NULL;
}

/* MPICH gives sends that are complete at once one request in common. Which of them somebody waits
 * for then can't be told, so nothing is said of their buffers. */
static void note_that_shared(MPI_Request request)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].request == request) {
            list[i].is_shared = true;
            list[i].sent = (struct message){0};
        }
}

/* The entry of a further request; NULL without memory. */
static struct pending_request *add(MPI_Request request)
{
    if (count == room) {
        const size_t more = room ? 2 * room : 64;
        struct pending_request *larger = realloc(list, more * sizeof *list);
        if (!larger) return NULL;
        list = larger;
        room = more;
    }
    const bool is_shared = find_pending(request) != NULL;
    list[count] = (struct pending_request){.request = request};
    struct pending_request *added = &list[count++];
    if (is_shared) note_that_shared(request);
    return added;
}

static void forget(struct pending_request *entry)
{
    memmove(entry, entry + 1, (size_t)(list + count - (entry + 1)) * sizeof *entry);
    count--;
}

/* Begins to note a start, with the lock held until it is noted. NULL without memory. again: the
 * request may have been there before. */
static struct pending_request *begin_start(const char *call, MPI_Request request, bool again)
{
    uint64_t frame[NUMALAB_REQUEST_FRAMES];
    find_callers(frame);
    pthread_mutex_lock(&lock);
    struct pending_request *started = again ? find_pending(request) : NULL;
    if (!started) started = add(request);
    if (!started) return NULL;
    started->is_active = true;
    started->is_complete = false;
    started->call = call;
    memcpy(started->frame, frame, sizeof frame);
    return started;
}

static void end_start(void)
{
    note_incomplete();
    pthread_mutex_unlock(&lock);
}

static bool is_watched(MPI_Request request)
{
    return notes && request != MPI_REQUEST_NULL;
}

void numalab_request_started(const char *call, MPI_Request request)
{
    if (!is_watched(request)) return;
    begin_start(call, request, false);
    end_start();
}

void numalab_send_started(const char *call, MPI_Request request, const void *buffer,
                          MPI_Count elements, MPI_Datatype kind, int destination)
{
    if (!is_watched(request)) return;
    const struct message sent = message_of(buffer, elements, kind, destination);
    struct pending_request *started = begin_start(call, request, false);
    if (started && !started->is_shared) {
        started->sent = sent;
        started->digest = digest_of(&sent);
    }
    end_start();
}

void *numalab_landing(void *buffer, MPI_Count elements, MPI_Datatype kind, int source)
{
    const struct message message = message_of(buffer, elements, kind, source);
    void *landing = message.buffer ? malloc(message.bytes) : NULL;
    return landing ? landing : buffer;
}

void numalab_receive_started(const char *call, MPI_Request request, void *buffer, void *landing)
{
    if (!is_watched(request)) return;
    struct pending_request *started = begin_start(call, request, false);
    if (started && landing != buffer) {
        started->buffer = buffer;
        started->landing = landing;
    }
    end_start();
}

void numalab_send_made(MPI_Request request, const void *buffer, MPI_Count elements,
                       MPI_Datatype kind, int destination)
{
    if (!is_watched(request)) return;
    const struct message sent = message_of(buffer, elements, kind, destination);
    pthread_mutex_lock(&lock);
    struct pending_request *added = add(request);
    if (added) {
        added->is_persistent = true;
        added->sent = sent;
    }
    pthread_mutex_unlock(&lock);
}

void numalab_request_restarted(const char *call, MPI_Request request)
{
    if (!is_watched(request)) return;
    struct pending_request *started = begin_start(call, request, true);
    if (started) {
        started->is_persistent = true;
        started->digest = digest_of(&started->sent);
    }
    end_start();
}

/* ---- completion ------------------------------------------------------------------ */

/* What has come is where it is wanted from now on. */
static void land(struct pending_request *entry, const MPI_Status *status)
{
    int is_cancelled = 0;
    MPI_Count bytes = 0; /* asked in bytes: of a type of pairs, elements are its halves */
    if (!entry->landing) return;
    if (PMPI_Test_cancelled(status, &is_cancelled) == MPI_SUCCESS && !is_cancelled &&
        PMPI_Get_elements_x(status, MPI_BYTE, &bytes) == MPI_SUCCESS && bytes > 0)
        memcpy(entry->buffer, entry->landing, (size_t)bytes);
    free(entry->landing);
    entry->landing = NULL;
}

static void check_sent(struct pending_request *entry)
{
    if (entry->sent.buffer && digest_of(&entry->sent) != entry->digest)
        note(NUMALAB_SEND_CHANGED, entry);
}

bool numalab_requests_are_watched(void)
{
    return notes != NULL;
}

/* Receives first: one that comes into the buffer of a send that is not complete changes it. */
void numalab_requests_completed(size_t requests, const MPI_Request request[],
                                const MPI_Status *const status[])
{
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < requests; i++) {
        struct pending_request *entry = find_pending(request[i]);
        if (entry && entry->is_active) land(entry, status[i]);
    }
    for (size_t i = 0; i < requests; i++) {
        struct pending_request *entry = find_pending(request[i]);
        if (!entry || !entry->is_active) continue;
        if (!entry->is_complete) check_sent(entry);
        entry->is_active = entry->is_complete = false;
        if (!entry->is_persistent) forget(entry);
    }
    note_incomplete();
    pthread_mutex_unlock(&lock);
}

void numalab_request_is_complete(MPI_Request request, const MPI_Status *status)
{
    pthread_mutex_lock(&lock);
    struct pending_request *entry = find_pending(request);
    if (entry && entry->is_active && !entry->is_complete) {
        land(entry, status);
        check_sent(entry);
        entry->is_complete = true;
    }
    note_incomplete();
    pthread_mutex_unlock(&lock);
}

void numalab_request_freed(MPI_Request request)
{
    pthread_mutex_lock(&lock);
    struct pending_request *entry = find_pending(request);
    if (entry) {
        if (entry->is_active && !entry->is_complete) note(NUMALAB_GIVEN_UP, entry);
        forget(entry); /* what still comes may land, nobody looks there */
    }
    note_incomplete();
    pthread_mutex_unlock(&lock);
}
