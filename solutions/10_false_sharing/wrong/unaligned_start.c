/* Blocks of 64 bytes, the first of which begins in the middle of a line. */
#include "false_sharing.h"

#include <omp.h>

enum { MAX_THREADS = 1024 };

enum { LINE = 8, HALF = 4 };
static _Alignas(64) int64_t room[LINE * (MAX_THREADS + 1)];
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
#pragma omp parallel
    {
        int64_t *own = &room[HALF + LINE * omp_get_thread_num()];
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++) bins[k] += room[HALF + LINE * thread + k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = &room[HALF + LINE * thread];
    *length = thread < team ? BINS : 0;
}
