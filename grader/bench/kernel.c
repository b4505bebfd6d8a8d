/* Lab 01's solution, its loop repeated: NUMALAB_BENCH_PASSES of the worker's environment is
 * the number of passes over the arrays, and the time is as much longer.
 *
 * Every pass adds weight * b * c to a, with weights that add up to 1: 1, then -1 and 1 in
 * turn, and 0 where one is left over. Values are small whole numbers, so all this is exact
 * in single precision and the result is the one that the contract asks for. */
#include "first_touch.h"

#include <stdlib.h>

static int pass_count = 1;

static void read_pass_count(void)
{
    const char *text = getenv("NUMALAB_BENCH_PASSES");
    pass_count = text ? atoi(text) : 1;
    if (pass_count < 1) abort();
}

/* The weight of a pass, counted from 0. */
static float weight_of(int pass)
{
    if (pass % 2 == 0) return 1.0f;
    return pass == pass_count - 1 ? 0.0f : -1.0f;
}

void initialize(size_t n, float *a, float *b, float *c)
{
    read_pass_count();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
    for (int pass = 0; pass < pass_count; pass++) {
        const float weight = weight_of(pass);
#pragma omp parallel for schedule(static)
        for (size_t i = 0; i < n; i++)
            a[i] += weight * b[i] * c[i];
        /* Or two passes could be made one. */
        __asm__ volatile("" ::: "memory");
    }
}
