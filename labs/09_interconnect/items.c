/* Many small items from rank 0 to rank 1, in one of several ways, your own
 * among them: deliver, of kernel.c or kernel.f90. Nothing of the kit is in it;
 * README.md says how to run it on a link that is counted.
 *
 *   mpicc -O2 items.c kernel.c -o items
 *   mpiexec -n 2 -ppn 1 ./items WAY ITEMS
 *
 * An item is 1 to 8 numbers of 8 bytes; it lies in a slot for 8. */
#include "interconnect.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TAG = 0 };

struct items {
    int count, numbers; /* numbers: of all items together */
    int32_t *length;
    int32_t *received; /* lengths, by rank 1's deliver */
    int64_t *slot;
};

/* Rank 1 has to be told by each message how long it is. */
static void each(const struct items *items, int rank)
{
    for (int i = 0; i < items->count; i++) {
        int64_t *slot = items->slot + (size_t)i * SLOT;
        if (rank == 0)
            MPI_Send(slot, items->length[i], MPI_INT64_T, 1, TAG,
                     MPI_COMM_WORLD);
        else
            MPI_Recv(slot, SLOT, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

/* As each, but rank 0 waits until rank 1 has begun to receive this one. */
static void answered(const struct items *items, int rank)
{
    for (int i = 0; i < items->count; i++) {
        int64_t *slot = items->slot + (size_t)i * SLOT;
        if (rank == 0)
            MPI_Ssend(slot, items->length[i], MPI_INT64_T, 1, TAG,
                      MPI_COMM_WORLD);
        else
            MPI_Recv(slot, SLOT, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
}

/* All slots, used or not. */
static void padded(const struct items *items, int rank)
{
    const int numbers = items->count * SLOT;
    if (rank == 0)
        MPI_Send(items->slot, numbers, MPI_INT64_T, 1, TAG, MPI_COMM_WORLD);
    else
        MPI_Recv(items->slot, numbers, MPI_INT64_T, 0, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

/* By deliver. Rank 1 does not give it the lengths, and takes an item whose
 * length is another one for lost. */
static void yours(const struct items *items, int rank)
{
    int32_t *length = rank == 0 ? items->length : items->received;

    deliver(rank, 1 - rank, (size_t)items->count, length, items->slot);
    if (rank == 0) return;
    for (int i = 0; i < items->count; i++)
        if (length[i] != items->length[i]) items->slot[(size_t)i * SLOT] = 0;
}

/* What the job itself takes: its start and its end. */
static void nothing(const struct items *items, int rank)
{
    (void)items;
    (void)rank;
}

static const struct {
    const char *name;
    void (*send)(const struct items *items, int rank);
} ways[] = {{"each", each},     {"answered", answered}, {"padded", padded},
            {"yours", yours},   {"nothing", nothing},   {NULL, NULL}};

static int32_t length_of(int i)
{
    const uint64_t mixed = (uint64_t)(i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return 1 + (int32_t)((mixed ^ mixed >> 29) >> 24 & (SLOT - 1));
}

static int make(struct items *items, int count, int rank)
{
    items->count = count;
    items->numbers = 0;
    items->length = calloc((size_t)count, sizeof *items->length);
    items->received = calloc((size_t)count, sizeof *items->received);
    items->slot = calloc((size_t)count * SLOT, sizeof *items->slot);
    if (!items->length || !items->received || !items->slot) return -1;
    for (int i = 0; i < count; i++) {
        items->length[i] = length_of(i);
        items->numbers += items->length[i];
        int64_t *slot = items->slot + (size_t)i * SLOT;
        for (int k = 0; k < items->length[i] && rank == 0; k++)
            slot[k] = (int64_t)i * SLOT + k + 1;
    }
    return 0;
}

static int count_mismatches(const struct items *items)
{
    int wrong = 0;
    for (int i = 0; i < items->count; i++) {
        const int64_t *slot = items->slot + (size_t)i * SLOT;
        bool is_equal = true;
        for (int k = 0; k < items->length[i]; k++)
            is_equal = is_equal && slot[k] == (int64_t)i * SLOT + k + 1;
        wrong += !is_equal;
    }
    return wrong;
}

/* Returns the exit code. */
static int run(int way, int count, int rank)
{
    struct items items;
    int is_made = make(&items, count, rank) == 0;

    /* Both ranks end where one has no memory. */
    MPI_Allreduce(MPI_IN_PLACE, &is_made, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    if (!is_made) {
        if (rank == 0)
            fprintf(stderr, "items: no memory for %d items\n", count);
        return 2;
    }
    ways[way].send(&items, rank);
    if (rank == 1)
        printf("%s: %d items, %zu bytes of payload, %d wrong\n", ways[way].name,
               count, (size_t)items.numbers * sizeof *items.slot,
               ways[way].send == nothing ? 0 : count_mismatches(&items));
    return 0;
}

int main(int argc, char **argv)
{
    int rank, ranks, way = 0, code = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int count = argc > 2 ? atoi(argv[2]) : 0;
    while (ways[way].name && (argc < 2 || strcmp(ways[way].name, argv[1]) != 0))
        way++;
    if (ways[way].name && count >= 1 && ranks == 2)
        code = run(way, count, rank);
    else if (rank == 0)
        fputs("usage: mpiexec -n 2 ./items "
              "each|answered|padded|yours|nothing ITEMS\n",
              stderr);
    return MPI_Finalize() == MPI_SUCCESS ? code : 3;
}
