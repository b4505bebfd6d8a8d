/* What a message takes, from 0 bytes to 1 MiB, by the ping_pong of kernel.c or
 * kernel.f90: on one node, or across a link between two. Nothing of the kit is
 * in it; README.md says how to run it.
 *
 *   mpicc -O2 across.c kernel.c -o across
 *   mpiexec -n 2 -ppn 1 ./across [MBIT_S [MOST_BYTES]]
 *
 * MBIT_S: what the link carries; 0: not known. MOST_BYTES: of a message, in
 * place of 1 MiB, from 16 bytes to 4 MiB. */
#include "message_latency.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_SIZES = 11, /* 0, 16, and four times as many each, up to 4 MiB */
    SHORT_SIZES = 3,
    LEAST_BATCHES = 12,
    MOST_REPETITIONS = 20000,
    BAR_COLUMNS = 34,
    FILLED = 0x5a
};
/* Many short batches, since the quickest one counts: on a busy node others
 * disturb most of the long ones. */
static const double batch_s = 0.02, least_s = 0.5, most_s = 4.0;

/* What a rank finds in its buffer after some round trips. */
struct received {
    int64_t growth;     /* of the word */
    int64_t foreign_bytes; /* bytes behind the word that are not rank 0's */
};

struct curve {
    int sizes;
    size_t bytes[MOST_SIZES];
    double us[MOST_SIZES];
};

struct line {
    double t0_us, us_per_byte; /* 1/B */
};

/* ---- one batch of round trips ------------------------------------------- */

/* The word is 0 in both; behind it rank 0 has what rank 1 has not. */
static void fill(int rank, char *buffer, size_t bytes)
{
    memset(buffer, rank == 0 ? FILLED : 0, bytes);
    if (bytes >= sizeof(int64_t)) memset(buffer, 0, sizeof(int64_t));
}

static struct received inspect_buffer(const char *buffer, size_t bytes)
{
    struct received received = {0, 0};
    if (bytes < sizeof received.growth) return received;
    memcpy(&received.growth, buffer, sizeof received.growth);
    for (size_t i = sizeof received.growth; i < bytes; i++)
        received.foreign_bytes += buffer[i] != FILLED;
    return received;
}

/* Both ranks come to the same; rank 0 says what is wrong. */
static bool is_result_correct(int rank, const char *buffer, size_t bytes,
                     int repetitions)
{
    const struct received own = inspect_buffer(buffer, bytes);
    const int64_t wanted = 2 * (int64_t)repetitions;
    struct received of[2];
    MPI_Allgather(&own, 2, MPI_INT64_T, of, 2, MPI_INT64_T, MPI_COMM_WORLD);
    if (bytes < sizeof wanted || /* nobody has added anything */
        (of[0].growth == wanted && of[1].growth == wanted - 1 &&
         of[0].foreign_bytes == 0 && of[1].foreign_bytes == 0))
        return true;
    if (rank == 0)
        fprintf(stderr,
                "across: ping_pong is wrong. With %zu bytes and repetitions = "
                "%d the word has\ngrown by %lld in rank 0 and by %lld in rank "
                "1, and not by %lld and %lld; wrong\nbytes behind it: %lld and "
                "%lld.\n",
                bytes, repetitions, (long long)of[0].growth,
                (long long)of[1].growth, (long long)wanted,
                (long long)wanted - 1, (long long)of[0].foreign_bytes,
                (long long)of[1].foreign_bytes);
    return false;
}

/* Seconds of so many round trips; -1 where they were wrong. */
static double batch(int rank, char *buffer, size_t bytes, int repetitions)
{
    fill(rank, buffer, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    ping_pong(rank, 1 - rank, buffer, bytes, repetitions);
    const double elapsed_s = MPI_Wtime() - start_s;
    return is_result_correct(rank, buffer, bytes, repetitions) ? elapsed_s : -1;
}

/* Of the next batch; 0: there have been enough. */
static int next_repetitions(double trip_s, double all_s, int batches)
{
    if (all_s >= (batches < LEAST_BATCHES ? most_s : least_s)) return 0;
    if (trip_s * MOST_REPETITIONS <= batch_s) return MOST_REPETITIONS;
    return 1 + (int)(batch_s / trip_s);
}

/* Microseconds of one message, one way, in the quickest batch; -1 where one was
 * wrong. */
static double measure_latency_us(int rank, char *buffer, size_t bytes)
{
    double best_s = 0.0, all_s = 0.0;
    int repetitions = 1;
    for (int batches = 1; repetitions > 0; batches++) {
        const double taken_s = batch(rank, buffer, bytes, repetitions);
        if (taken_s < 0) return -1;
        const double trip_s = taken_s / repetitions;
        if (batches == 1 || trip_s < best_s) best_s = trip_s;
        all_s += taken_s;
        repetitions = next_repetitions(best_s, all_s, batches);
        MPI_Bcast(&repetitions, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return best_s / 2 * 1e6;
}

/* ---- what is printed ---------------------------------------------------- */

/* t0 + n/B from the ends: t0 is the quickest of the shortest sizes, and B leads
 * from there to the longest. */
static struct line fit_line(const struct curve *curve)
{
    const int last = curve->sizes - 1;
    double t0_us = curve->us[0];
    for (int i = 1; i < SHORT_SIZES && i < last; i++)
        if (curve->us[i] < t0_us) t0_us = curve->us[i];
    const double more_us = curve->us[last] - t0_us;
    return (struct line){
        t0_us, more_us > 0 ? more_us / (double)curve->bytes[last] : 0};
}

static int columns_of(double share)
{
    return (int)(BAR_COLUMNS * (share < 1 ? share : 1) + 0.5);
}

/* The bar is what was measured; | is where it would end by the line. */
static void print_row(size_t bytes, double us, struct line line,
                      double full_mb_s)
{
    const double mb_s = (double)bytes / us;
    const double line_us = line.t0_us + (double)bytes * line.us_per_byte;
    const int columns = columns_of(mb_s / full_mb_s);
    const int mark = columns_of((double)bytes / line_us / full_mb_s);
    printf("%9zu %12.1f %10.3f %6.1f %%  ", bytes, us, mb_s,
           100 * mb_s / full_mb_s);
    for (int i = 0; i < columns || i <= mark; i++)
        putchar(i == mark ? '|' : i < columns ? '#' : ' ');
    putchar('\n');
}

static void print(const struct curve *curve, double link_mb_s)
{
    const struct line line = fit_line(curve);
    double full_mb_s = link_mb_s;
    for (int i = 0; i < curve->sizes && link_mb_s <= 0; i++)
        if ((double)curve->bytes[i] / curve->us[i] > full_mb_s)
            full_mb_s = (double)curve->bytes[i] / curve->us[i];
    printf("%9s %12s %10s %8s  a full bar: %.2f MB/s\n", "bytes", "one way, us",
           "MB/s", link_mb_s > 0 ? "of link" : "of most", full_mb_s);
    for (int i = 0; i < curve->sizes; i++)
        print_row(curve->bytes[i], curve->us[i], line, full_mb_s);
    printf("| by t(n) = t0 + n/B, from the ends: t0 = %.2f us, ", line.t0_us);
    if (line.us_per_byte > 0)
        printf("B = %.2f MB/s,\n"
               "  which reaches half of B at t0 x B = %.0f bytes\n",
               1 / line.us_per_byte, line.t0_us / line.us_per_byte);
    else
        puts("and the longest message\n  took no longer: B can't be told");
}

/* Returns 0, or -1 where ping_pong is wrong. */
static int measure(struct curve *curve, int rank, char *buffer, long most_bytes)
{
    for (long bytes = 0; bytes <= most_bytes; bytes = bytes ? 4 * bytes : 16) {
        const double us = measure_latency_us(rank, buffer, (size_t)bytes);
        if (us < 0) return -1;
        curve->bytes[curve->sizes] = (size_t)bytes;
        curve->us[curve->sizes++] = us;
    }
    return 0;
}

/* Returns the exit code. */
static int run(int rank, double link_mb_s, long most_bytes)
{
    struct curve curve = {.sizes = 0};
    char *buffer = malloc((size_t)most_bytes);
    int has_buffer = buffer != NULL; /* both ranks end where one has none */
    MPI_Allreduce(MPI_IN_PLACE, &has_buffer, 1, MPI_INT, MPI_LAND,
                  MPI_COMM_WORLD);
    if (!has_buffer) {
        if (rank == 0) fputs("across: no memory for a message\n", stderr);
        return 2;
    }
    const int error = measure(&curve, rank, buffer, most_bytes);
    if (error == 0 && rank == 0) print(&curve, link_mb_s);
    free(buffer);
    return error != 0;
}

int main(int argc, char **argv)
{
    int rank, ranks, code = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double link_mbit_s = argc > 1 ? atof(argv[1]) : 0;
    const long most_bytes = argc > 2 ? atol(argv[2]) : 1 << 20;
    if (ranks == 2 && link_mbit_s >= 0 && most_bytes >= 16 &&
        most_bytes <= 4 << 20)
        code = run(rank, link_mbit_s / 8, most_bytes);
    else if (rank == 0)
        fputs("usage: mpiexec -n 2 [-ppn 1] ./across [MBIT_S [MOST_BYTES]]\n",
              stderr);
    return MPI_Finalize() == MPI_SUCCESS ? code : 3;
}
