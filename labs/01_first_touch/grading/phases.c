/* Lab 01: how the worker calls the kernel. Arrays as in driver.c: a, b, c. */
#include "numalab/phases.h"

#include "first_touch.h"

static void run_initialize(size_t n, void **arrays)
{
    initialize(n, arrays[0], arrays[1], arrays[2]);
}

static void run_compute(size_t n, void **arrays)
{
    compute(n, arrays[0], arrays[1], arrays[2]);
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", run_initialize},
    {"compute", run_compute},
    {NULL, NULL},
};
