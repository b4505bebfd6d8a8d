/* MPI's functions that complete requests, on their way to MPI where requests are watched. */
#include "mpi_completion.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_calls.h"
#include "mpi_requests.h"

/* Of the requests that a call was given, as they were before it, those that it has completed. */
enum { FEW = 32 };
struct completion {
    size_t count, done;
    MPI_Request *request, *complete;      /* all, and the first done ones of the second ... */
    const MPI_Status **complete_statuses; /* ... with theirs, which are among: */
    MPI_Status *status;
    MPI_Request few_requests[FEW], few_complete[FEW];
    const MPI_Status *few_of_complete[FEW];
    MPI_Status few_statuses[FEW];
};

static void finish(struct completion *completion)
{
    if (completion->request == completion->few_requests) return;
    free(completion->request);
    free(completion->complete);
    free(completion->complete_statuses);
    free(completion->status);
}

static bool get_room(struct completion *completion)
{
    const size_t count = completion->count;
    completion->request = completion->few_requests;
    completion->complete = completion->few_complete;
    completion->complete_statuses = completion->few_of_complete;
    completion->status = completion->few_statuses;
    if (count <= FEW) return true;
    completion->request = malloc(count * sizeof *completion->request);
    completion->complete = malloc(count * sizeof *completion->complete);
    completion->complete_statuses = malloc(count * sizeof *completion->complete_statuses);
    completion->status = malloc(count * sizeof *completion->status);
    if (completion->request && completion->complete && completion->complete_statuses &&
        completion->status)
        return true;
    finish(completion);
    return false;
}

/* asked: where the caller wants the statuses, or NULL. False where nothing is watched. */
static bool begin(struct completion *completion, int requests, const MPI_Request request[],
                  MPI_Status *requested)
{
    if (!numalab_requests_are_watched() || requests < 0) return false;
    const size_t n = (size_t)requests;
    completion->count = n;
    completion->done = 0;
    if (!get_room(completion)) return false;
    if (n) memcpy(completion->request, request, n * sizeof *request);
    /* What the caller has in its statuses, such as MPI_ERROR, is to stay. */
    if (requested && n) memcpy(completion->status, requested, n * sizeof *requested);
    return true;
}

/* index: which request; place: of its status. */
static void is_done(struct completion *completion, size_t index, size_t place)
{
    completion->complete[completion->done] = completion->request[index];
    completion->complete_statuses[completion->done++] = &completion->status[place];
}

static void all_are_done(struct completion *completion)
{
    for (size_t i = 0; i < completion->count; i++) is_done(completion, i, i);
}

/* Ends a call: notes what it has completed, and gives the caller its statuses. statuses: how many,
 * if it wants them. */
static int end(struct completion *completion, int result, MPI_Status *requested, size_t statuses)
{
    if (result == MPI_SUCCESS)
        numalab_requests_completed(completion->done, completion->complete,
                                   completion->complete_statuses);
    if (requested && statuses) memcpy(requested, completion->status, statuses * sizeof *requested);
    finish(completion);
    return result;
}

#define DEFINE_BOTH_NAMES(name, parameters, arguments)                                             \
    int MPI_##name parameters                                                                      \
    {                                                                                              \
        return PMPI_##name arguments;                                                              \
    }                                                                                              \
    int PMPI_##name parameters

#define FIND(name, parameters)                                                                     \
    static int(*real) parameters;                                                                  \
    if (!real) numalab_mpi_find("PMPI_" #name, &real, sizeof real);                                \
    numalab_mpi_enter()

/* What mpi_calls.c calls in their place. */
#define WATCHED(name, parameters) int numalab_watched_##name parameters

#define FIND_REAL(name, parameters)                                                                \
    static int(*real) parameters;                                                                  \
    if (!real) numalab_mpi_find("PMPI_" #name, &real, sizeof real)

#define SINGLE (MPI_Request * request, MPI_Status * status)
#define SINGLE_FLAG (MPI_Request * request, int *flag, MPI_Status *status)
#define ALL (int requests, MPI_Request request[], MPI_Status status[])
#define ALL_FLAG (int requests, MPI_Request request[], int *flag, MPI_Status status[])
#define ANY (int requests, MPI_Request request[], int *index, MPI_Status *status)
#define ANY_FLAG (int requests, MPI_Request request[], int *index, int *flag, MPI_Status *status)
#define SOME                                                                                       \
    (int requests, MPI_Request request[], int *completed, int indices[], MPI_Status status[])

WATCHED(Wait, SINGLE)
{
    FIND_REAL(Wait, SINGLE);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUS_IGNORE ? NULL : status;
    if (!begin(&completion, 1, request, requested)) return real(request, status);
    const int result = real(request, completion.status);
    all_are_done(&completion);
    return end(&completion, result, requested, 1);
}

WATCHED(Test, SINGLE_FLAG)
{
    FIND_REAL(Test, SINGLE_FLAG);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUS_IGNORE ? NULL : status;
    if (!begin(&completion, 1, request, requested)) return real(request, flag, status);
    const int result = real(request, flag, completion.status);
    if (result == MPI_SUCCESS && *flag) all_are_done(&completion);
    return end(&completion, result, requested, 1);
}

WATCHED(Waitall, ALL)
{
    FIND_REAL(Waitall, ALL);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUSES_IGNORE ? NULL : status;
    if (!begin(&completion, requests, request, requested)) return real(requests, request, status);
    const int result = real(requests, request, completion.status);
    all_are_done(&completion);
    return end(&completion, result, requested, completion.count);
}

WATCHED(Testall, ALL_FLAG)
{
    FIND_REAL(Testall, ALL_FLAG);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUSES_IGNORE ? NULL : status;
    if (!begin(&completion, requests, request, requested))
        return real(requests, request, flag, status);
    const int result = real(requests, request, flag, completion.status);
    if (result == MPI_SUCCESS && *flag) all_are_done(&completion);
    return end(&completion, result, requested, completion.count);
}

WATCHED(Waitany, ANY)
{
    FIND_REAL(Waitany, ANY);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUS_IGNORE ? NULL : status;
    if (!begin(&completion, requests, request, NULL)) return real(requests, request, index, status);
    MPI_Status own, *used = requested ? requested : &own;
    const int result = real(requests, request, index, used);
    if (result == MPI_SUCCESS && *index != MPI_UNDEFINED) {
        completion.status[0] = *used;
        is_done(&completion, (size_t)*index, 0);
    }
    return end(&completion, result, NULL, 0);
}

WATCHED(Testany, ANY_FLAG)
{
    FIND_REAL(Testany, ANY_FLAG);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUS_IGNORE ? NULL : status;
    if (!begin(&completion, requests, request, NULL))
        return real(requests, request, index, flag, status);
    MPI_Status own, *used = requested ? requested : &own;
    const int result = real(requests, request, index, flag, used);
    if (result == MPI_SUCCESS && *flag && *index != MPI_UNDEFINED) {
        completion.status[0] = *used;
        is_done(&completion, (size_t)*index, 0);
    }
    return end(&completion, result, NULL, 0);
}

/* Of Waitsome and Testsome. */
static void some_are_done(struct completion *completion, int completed, const int indices[])
{
    for (int i = 0; completed != MPI_UNDEFINED && i < completed; i++)
        is_done(completion, (size_t)indices[i], (size_t)i);
}

WATCHED(Waitsome, SOME)
{
    FIND_REAL(Waitsome, SOME);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUSES_IGNORE ? NULL : status;
    if (!begin(&completion, requests, request, requested))
        return real(requests, request, completed, indices, status);
    const int result = real(requests, request, completed, indices, completion.status);
    if (result == MPI_SUCCESS) some_are_done(&completion, *completed, indices);
    return end(&completion, result, requested, completion.done);
}

WATCHED(Testsome, SOME)
{
    FIND_REAL(Testsome, SOME);
    struct completion completion;
    MPI_Status *requested = status == MPI_STATUSES_IGNORE ? NULL : status;
    if (!begin(&completion, requests, request, requested))
        return real(requests, request, completed, indices, status);
    const int result = real(requests, request, completed, indices, completion.status);
    if (result == MPI_SUCCESS) some_are_done(&completion, *completed, indices);
    return end(&completion, result, requested, completion.done);
}

#define GET_STATUS (MPI_Request request, int *flag, MPI_Status *status)

/* It tells that a request is complete, and leaves it to be freed. */
DEFINE_BOTH_NAMES(Request_get_status, GET_STATUS, (request, flag, status))
{
    FIND(Request_get_status, GET_STATUS);
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    const int result = real(request, flag, used);
    if (result == MPI_SUCCESS && *flag) {
        numalab_mpi_has_completed(request);
        if (numalab_requests_are_watched()) numalab_request_is_complete(request, used);
    }
    return numalab_mpi_leave(result);
}

#define FREE (MPI_Request * request)

/* A request that was started goes on without its handle, and nothing tells any more when its buffer
 * may be used. */
DEFINE_BOTH_NAMES(Request_free, FREE, (request))
{
    FIND(Request_free, FREE);
    if (numalab_requests_are_watched()) numalab_request_freed(*request);
    return numalab_mpi_leave(real(request));
}
