/* Wrong: One block for all threads, and nothing keeps two counts apart: some
 * are lost. */
#include "false_sharing.h"

static int64_t counters[BINS];

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
    for (int k = 0; k < BINS; k++) counters[k] = 0;
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) counters[keys[i]]++;
    for (int k = 0; k < BINS; k++) bins[k] = counters[k];
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = counters;
    *length = thread == 0 ? BINS : 0;
}
