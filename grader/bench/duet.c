/* One side of a duet: two programs that do the same kind of work at the same time, so that what
 * disturbs the node disturbs both (L. Bulej et al., "Duet benchmarking", ICPE 2020).
 *
 *     duet FILE SIDE REPETITIONS N
 *
 * FILE holds zeros, `struct meeting` and then REPETITIONS structs of each side, SIDE is 0 or 1.
 * Both sides wait for each other before each repetition, the first of which warms up. Who is done
 * first waits for the other. Exit code 1: the file can't be used, or there is no memory. */
#define _GNU_SOURCE
#include "first_touch.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

struct meeting {
    _Alignas(64) atomic_ullong arrived; /* at all meetings so far, both sides */
};

struct repetition {
    double started_s; /* on CLOCK_MONOTONIC */
    double elapsed_s;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Returns once both sides have come so often. Whoever waits lets others run: both teams may share
 * their cores. */
static void meet(struct meeting *meeting, unsigned long long times)
{
    atomic_fetch_add(&meeting->arrived, 1);
    while (atomic_load(&meeting->arrived) < 2 * times) sched_yield();
}

static void *map(const char *path, size_t bytes)
{
    const int file = open(path, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return mapped == MAP_FAILED ? NULL : mapped;
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: duet FILE SIDE REPETITIONS N\n", stderr);
        return 1;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* or one side would wait for ever */
    const size_t side = strtoul(argv[2], NULL, 10);
    const size_t repetitions = strtoul(argv[3], NULL, 10);
    const size_t n = strtoul(argv[4], NULL, 10);
    const size_t bytes = sizeof(struct meeting) + 2 * repetitions * sizeof(struct repetition);
    struct meeting *meeting = map(argv[1], bytes);
    float *arrays[3];
    for (int i = 0; i < 3; i++) arrays[i] = malloc(n * sizeof *arrays[i]);
    if (!meeting || side > 1 || !arrays[0] || !arrays[1] || !arrays[2]) {
        fprintf(stderr, "duet: %s can't be used, or there is no memory\n", argv[1]);
        return 1;
    }
    struct repetition *own = (struct repetition *)(meeting + 1) + side * repetitions;
    initialize(n, arrays[0], arrays[1], arrays[2]);
    for (size_t r = 0; r < repetitions; r++) {
        meet(meeting, r + 1);
        own[r].started_s = now_s();
        compute(n, arrays[0], arrays[1], arrays[2]);
        own[r].elapsed_s = now_s() - own[r].started_s;
    }
    /* b is i mod 7, c is 1: the last element tells whether all passes were made. */
    return arrays[0][n - 1] == (float)repetitions * (float)((n - 1) % 7) ? 0 : 1;
}
