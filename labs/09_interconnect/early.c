/* How much of a message is on the link before its receive is posted: rank 1
 * waits for two seconds, and rank 0 looks after one what its card has sent.
 * Nothing of the kit is in it; README.md says how to run it.
 *
 *   mpicc -O2 early.c -o early
 *   mpiexec -n 2 -ppn 1 ./early [CARD] */
#include <mpi.h>
#include <stdio.h>

enum { TAG = 0, MOST_BYTES = 1 << 20 };

static long long sent_bytes(const char *card)
{
    char path[128];
    long long bytes = -1;
    snprintf(path, sizeof path, "/sys/class/net/%.32s/statistics/tx_bytes",
             card);
    FILE *counter = fopen(path, "r");
    if (!counter) return -1;
    if (fscanf(counter, "%lld", &bytes) != 1) bytes = -1;
    fclose(counter);
    return bytes;
}

static void wait_for(double pause_s)
{
    const double end_s = MPI_Wtime() + pause_s;
    while (MPI_Wtime() < end_s) continue; /* no call that would receive */
}

/* MPI gets its turns meanwhile. */
static void keep_testing(double pause_s, MPI_Request *request)
{
    const double end_s = MPI_Wtime() + pause_s;
    int is_done = 0;
    while (MPI_Wtime() < end_s) MPI_Test(request, &is_done, MPI_STATUS_IGNORE);
}

static void send(const char *card, char *buffer, int bytes)
{
    MPI_Request request;
    const long long before = sent_bytes(card);
    MPI_Isend(buffer, bytes, MPI_CHAR, 1, TAG, MPI_COMM_WORLD, &request);
    keep_testing(1.0, &request);
    const long long early = sent_bytes(card) - before;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    printf("%8d bytes: %8lld sent before the receive, %8lld in the end\n",
           bytes, early, sent_bytes(card) - before);
}

static void receive(char *buffer, int bytes)
{
    wait_for(2.0);
    MPI_Recv(buffer, bytes, MPI_CHAR, 0, TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static char buffer[MOST_BYTES];
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *card = argc > 1 ? argv[1] : "eth0";
    int is_counted = sent_bytes(card) >= 0;
    MPI_Allreduce(MPI_IN_PLACE, &is_counted, 1, MPI_INT, MPI_LAND,
                  MPI_COMM_WORLD);
    if (!is_counted || ranks != 2) {
        if (rank == 0)
            fprintf(stderr, "early: needs two ranks, and counters of %s\n",
                    card);
        return MPI_Finalize() == MPI_SUCCESS ? 2 : 3;
    }
    for (int bytes = 1 << 10; bytes <= MOST_BYTES; bytes *= 4) {
        if (rank == 0)
            send(card, buffer, bytes);
        else
            receive(buffer, bytes);
    }
    return MPI_Finalize() == MPI_SUCCESS ? 0 : 3;
}
