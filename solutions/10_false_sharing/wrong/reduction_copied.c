/* Wrong: A reduction over the array: right and fast, but the threads' copies
 * are gone in the end, and slots has their sums only. */
#include "false_sharing.h"

static _Alignas(64) int64_t sums[BINS];

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
    for (int k = 0; k < BINS; k++) sums[k] = 0;
#pragma omp parallel for schedule(static) reduction(+ : sums[:BINS])
    for (size_t i = 0; i < n; i++) sums[keys[i]]++;
    for (int k = 0; k < BINS; k++) bins[k] = sums[k];
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = sums;
    *length = thread == 0 ? BINS : 0;
}
