/* The job by which deliver is judged: rank 0 has items, on node 1, and what rank 1 has got lies in
 * a file of node 2 afterwards. Nobody believes this program: what has crossed the link between the
 * nodes the relay counts, and the items, which are random and which node 2 has never seen, are
 * compared outside.
 *
 *   on_link ITEMS COUNT RESULT
 *
 * ITEMS, on node 1, and RESULT, on node 2: COUNT lengths, int32_t, and all slots, in which an
 * item's numbers come first; deliver has them as the contract says. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "conventions.h"
#include "interconnect.h"

static bool read_items(const char *path, size_t count, int32_t *lengths, int64_t *numbers)
{
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    const bool is_read = fread(lengths, sizeof *lengths, count, file) == count &&
                         fread(numbers, sizeof *numbers, count * SLOT, file) == count * SLOT;
    fclose(file);
    return is_read;
}

static bool write_items(const char *path, size_t count, const int32_t *lengths,
                        const int64_t *numbers)
{
    FILE *file = fopen(path, "wb");
    if (!file) return false;
    const bool is_written = fwrite(lengths, sizeof *lengths, count, file) == count &&
                            fwrite(numbers, sizeof *numbers, count * SLOT, file) == count * SLOT;
    return fclose(file) == 0 && is_written;
}

/* MPI_Abort may end the launcher before it has read why: wait until it has, a second at most. */
static _Noreturn void abort_job(int code)
{
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    int unread_bytes = 0;
    fflush(NULL);
    for (int pauses = 0; pauses < 1000; pauses++) {
        if (ioctl(STDERR_FILENO, FIONREAD, &unread_bytes) < 0 || unread_bytes == 0) break;
        nanosleep(&pause, NULL);
    }
    MPI_Abort(MPI_COMM_WORLD, code);
    exit(code);
}

static _Noreturn void give_up(const char *doing, const char *path)
{
    fprintf(stderr, "on_link: %s %s failed\n", doing, path);
    abort_job(3);
}

/* What MPI itself does about an error of the kernel's, but for the wait. */
static void tell_error(MPI_Comm *communicator, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    (void)communicator;
    MPI_Error_string(*code, text, &length);
    fprintf(stderr, "Fatal error: %s\n", text);
    abort_job(*code);
}

/* Where deliver has a number of an item. length: whatever a kernel has left there. */
static size_t place_of(size_t item, int32_t length, size_t number)
{
    return item * SLOT + (first_place(item, (size_t)length) + number) % SLOT;
}

static void lay(size_t count, const int32_t *lengths, const int64_t *numbers, int64_t *placed)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < SLOT; k++)
            placed[place_of(i, lengths[i], k)] = numbers[i * SLOT + k];
}

static void gather(size_t count, const int32_t *lengths, const int64_t *placed, int64_t *numbers)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < SLOT; k++)
            numbers[i * SLOT + k] = placed[place_of(i, lengths[i], k)];
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(tell_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const size_t count = argc == 4 ? strtoul(argv[2], NULL, 10) : 0;
    int32_t *lengths = calloc(count, sizeof *lengths);
    int64_t *numbers = calloc(count * SLOT, sizeof *numbers);
    int64_t *slots = calloc(count * SLOT, sizeof *slots);
    if (ranks != 2 || count == 0 || !lengths || !numbers || !slots) give_up("being started", "");
    if (rank == 0 && !read_items(argv[1], count, lengths, numbers)) give_up("reading", argv[1]);
    lay(count, lengths, numbers, slots);
    MPI_Barrier(MPI_COMM_WORLD);
    deliver(rank, 1 - rank, count, lengths, slots);
    MPI_Barrier(MPI_COMM_WORLD);
    gather(count, lengths, slots, numbers);
    if (rank == 1 && !write_items(argv[3], count, lengths, numbers)) give_up("writing", argv[3]);
    free(slots);
    free(numbers);
    free(lengths);
    return MPI_Finalize() != MPI_SUCCESS;
}
