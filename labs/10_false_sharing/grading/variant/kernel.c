/* Lab 10, a variant: false sharing. Edit this file; README.md says what to do.
 *
 * The results are right, and no two threads write the same counter. */
#include "false_sharing.h"

#include <omp.h>

static const int64_t *begin;
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins,
           int64_t *restrict room)
{
    begin = room;
#pragma omp parallel
    {
        int64_t *own = room + omp_get_thread_num() * BINS;
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++)
            bins[k] += room[thread * BINS + k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = begin + thread * BINS;
    *length = thread < team ? BINS : 0;
}
