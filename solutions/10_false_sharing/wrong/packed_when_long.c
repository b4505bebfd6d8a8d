/* Wrong: A line each for up to a million keys, and side by side for more. */
#include "false_sharing.h"

#include <omp.h>

enum { MAX_THREADS = 1024, LINE_BYTES = 64 };

struct block {
    _Alignas(LINE_BYTES) int64_t counter[BINS];
};

static struct block blocks[MAX_THREADS];
static int64_t packed[MAX_THREADS][BINS];
static int team, is_long;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
    is_long = n > 1000000;
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        int64_t *own = is_long ? packed[me] : blocks[me].counter;
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++)
            bins[k] += is_long ? packed[thread][k] : blocks[thread].counter[k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = is_long ? packed[thread] : blocks[thread].counter;
    *length = thread < team ? BINS : 0;
}
