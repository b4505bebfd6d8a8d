/* Wrong: Two threads have two lines, and their blocks lie side by side
 * there: the second begins in the line of the first. */
#include "false_sharing.h"

#include <omp.h>

enum { MAX_THREADS = 1024, LINE_BYTES = 64 };

struct pair {
    _Alignas(LINE_BYTES) int64_t counter[2][BINS];
};

static struct pair pairs[MAX_THREADS / 2];
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
#pragma omp parallel
    {
        int me = omp_get_thread_num();
        int64_t *own = pairs[me / 2].counter[me % 2];
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++)
            bins[k] += pairs[thread / 2].counter[thread % 2][k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = pairs[thread / 2].counter[thread % 2];
    *length = thread < team ? BINS : 0;
}
