/* Counters that each thread has in memory of its own, wherever that is. */
#include "false_sharing.h"

#include <omp.h>

enum { MAX_THREADS = 1024 };

static _Thread_local _Alignas(64) int64_t counter[BINS];
static int64_t *block[MAX_THREADS];
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
#pragma omp parallel
    {
        int64_t *own = block[omp_get_thread_num()] = counter;
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++) bins[k] += block[thread][k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = block[thread];
    *length = thread < team ? BINS : 0;
}
