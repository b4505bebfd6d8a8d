/* The counters of one key side by side, a thread each. */
#include "false_sharing.h"

#include <omp.h>

enum { MAX_THREADS = 1024 };

static int64_t counters[BINS][MAX_THREADS];
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
#pragma omp parallel
    {
        int own = omp_get_thread_num();
        for (int k = 0; k < BINS; k++) counters[k][own] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) counters[keys[i]][own]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++) bins[k] += counters[k][thread];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = &counters[0][thread];
    *length = thread < team ? BINS : 0;
}
