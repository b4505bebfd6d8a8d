/* Asks until it is done, in all the ways that there are. */
#include "message_latency.h"

#include <mpi.h>
#include <stdint.h>
#include <string.h>

/* By memcpy, since the buffer may start anywhere. */
static void add_one(void *buffer, size_t bytes)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, buffer, sizeof word);
    word++;
    memcpy(buffer, &word, sizeof word);
}

static void send_message(const void *buffer, size_t bytes, int partner)
{
    static int turn;
    MPI_Request request;
    MPI_Status status;
    int is_done = 0, index, found = 0;
    MPI_Isend(buffer, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, &request);
    switch (turn++ % 6) {
    case 0:
        while (!is_done) MPI_Test(&request, &is_done, &status);
        break;
    case 1:
        while (!is_done) MPI_Testall(1, &request, &is_done, &status);
        break;
    case 2:
        while (!is_done) MPI_Testany(1, &request, &index, &is_done, MPI_STATUS_IGNORE);
        break;
    case 3:
        while (!found) MPI_Testsome(1, &request, &found, &index, MPI_STATUSES_IGNORE);
        break;
    case 4:
        MPI_Waitsome(1, &request, &found, &index, &status);
        break;
    default:
        MPI_Waitany(1, &request, &index, &status);
    }
}

static void receive_message(void *buffer, size_t bytes, int partner)
{
    MPI_Request requests[40]; /* more than there are messages */
    int index, is_done = 0, count = 0;
    MPI_Status status;
    for (int i = 0; i < 40; i++) requests[i] = MPI_REQUEST_NULL;
    MPI_Irecv(buffer, (int)bytes, MPI_BYTE, partner, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[39]);
    if (bytes % 2 == 0) {
        MPI_Waitany(40, requests, &index, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        if (index != 39 || status.MPI_SOURCE != partner || count != (int)bytes) return;
    } else {
        while (!is_done) MPI_Request_get_status(requests[39], &is_done, &status);
        if (bytes % 3 == 0)
            MPI_Wait(&requests[39], MPI_STATUS_IGNORE);
        else
            MPI_Request_free(&requests[39]); /* it is complete */
    }
    add_one(buffer, bytes);
}

void ping_pong(int rank, int partner, void *buffer, size_t bytes, int repetitions)
{
    for (int i = 0; i < repetitions; i++) {
        if (rank == 0) {
            send_message(buffer, bytes, partner);
            receive_message(buffer, bytes, partner);
        } else {
            receive_message(buffer, bytes, partner);
            send_message(buffer, bytes, partner);
        }
    }
}
