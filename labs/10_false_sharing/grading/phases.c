/* Lab 10: how the worker calls the kernels. Arrays as in driver.c: keys, counts, slots. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <stdint.h>
#include <string.h>

#include "query_slots.h"
#include "inputs.h"

/* Of the contract. */
size_t cache_line_bytes(void)
{
    return numalab_line_bytes();
}

static void initialize(size_t n, void **arrays)
{
    int32_t *keys = arrays[0];
    int64_t *counts = arrays[1];
    struct slot *reported = arrays[2];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        keys[i] = initial_key(i);
        counts[i] = initial_count;
        reported[i] = (struct slot){NULL, 0, 0};
    }
}

/* All arrays have n elements, however few those are. */
static void run_count(size_t n, void **arrays)
{
    int64_t bins[BINS];
    memset(bins, 0xff, sizeof bins);
    count(n, arrays[0], bins);
    memcpy(arrays[1], bins, (n < BINS ? n : BINS) * sizeof *bins);
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", initialize},
    {"count", run_count},
    {"slots", ask_slots},
    {NULL, NULL},
};
