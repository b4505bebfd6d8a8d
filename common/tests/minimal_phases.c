/* The phases of minimal_driver.c, without a kernel; and one that leaves the last element out. */
#include "numalab/phases.h"

static void initialize(size_t n, void **arrays)
{
    double *x = arrays[0];
    for (size_t i = 0; i < n; i++) x[i] = (double)(i % 7);
}

static void compute(size_t n, void **arrays)
{
    double *x = arrays[0];
    for (size_t i = 0; i < n; i++) x[i] += 1.0;
}

static void compute_short(size_t n, void **arrays)
{
    compute(n - 1, arrays);
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", initialize},
    {"compute", compute},
    {"compute_short", compute_short},
    {NULL, NULL},
};
