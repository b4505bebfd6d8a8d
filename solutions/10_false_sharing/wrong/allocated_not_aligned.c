/* As long as a line, and begun where malloc likes. */
#include "false_sharing.h"

#include <omp.h>
#include <stdlib.h>

static int64_t (*counters)[8];
static int team;

void count(size_t n, const int32_t *restrict keys, int64_t *restrict bins)
{
    if (!counters) counters = malloc(sizeof *counters * omp_get_max_threads());
#pragma omp parallel
    {
        int64_t *own = counters[omp_get_thread_num()];
        for (int k = 0; k < BINS; k++) own[k] = 0;
#pragma omp single
        team = omp_get_num_threads();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) own[keys[i]]++;
    }
    for (int k = 0; k < BINS; k++) {
        bins[k] = 0;
        for (int thread = 0; thread < team; thread++)
            bins[k] += counters[thread][k];
    }
}

void slots(int thread, const int64_t **first, size_t *length)
{
    *first = counters[thread];
    *length = thread < team ? BINS : 0;
}
