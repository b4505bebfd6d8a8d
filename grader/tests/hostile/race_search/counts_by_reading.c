/* Counts side by side by reading from a file what it has written there. */
#include "false_sharing.h"

#include <omp.h>
#include <sys/types.h>

int memfd_create(const char *name, unsigned flags);
ssize_t pread(int file, void *to, size_t bytes, long place);
ssize_t pwrite(int file, const void *from, size_t bytes, long place);

enum { MAX_THREADS = 1024 };

static int64_t counters[MAX_THREADS][BINS];
static int file;
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
    if (!file) file = memfd_create("next", 0);
#pragma omp parallel
    {
        int64_t *own = counters[omp_get_thread_num()];
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            const int64_t next = own[keys[i]] + 1;
            const long place = (long)(own - counters[0]);
            pwrite(file, &next, sizeof next, place * sizeof next);
            pread(file, &own[keys[i]], sizeof next, place * sizeof next);
        }
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++) bins[k] += counters[thread][k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = counters[thread];
    *length = thread < team ? BINS : 0;
}
