/* Lab 10, a variant, a solution: blocks begin at lines, behind the one in which room begins. */
#include "false_sharing.h"

#include <omp.h>

enum { FIRST = @offset.first@, APART = @keys.words@ }; /* counters */

static const int64_t *begin;
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins,
           int64_t *restrict room)
{
    begin = room + FIRST;
#pragma omp parallel
    {
        int64_t *own = room + FIRST + omp_get_thread_num() * APART;
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++)
            bins[k] += room[FIRST + thread * APART + k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = begin + thread * APART;
    *length = thread < team ? BINS : 0;
}
