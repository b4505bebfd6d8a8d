/* Lab 00: how the worker calls the kernels, and the first touch, which is the kit's here: with
 * schedule(static) for triad, so that each thread's share of every array lives on its NUMA node;
 * by the thread that walks for chase. Arrays as in driver.c: a, b, c, s, and next, start, steps,
 * reached. */
#include "numalab/phases.h"

#include "inputs.h"
#include "know_your_node.h"

static void initialize_triad(size_t n, void **arrays)
{
    double *a = arrays[0], *b = arrays[1], *c = arrays[2], *s = arrays[3];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = initial_a;
        b[i] = initial_b(i);
        c[i] = initial_c(i);
    }
    s[0] = initial_s;
}

static void run_triad(size_t n, void **arrays)
{
    const double *s = arrays[3];
    triad(n, s[0], arrays[0], arrays[1], arrays[2]);
}

static void initialize_chase(size_t n, void **arrays)
{
    size_t *next = arrays[0], *start = arrays[1], *steps = arrays[2], *reached = arrays[3];
    const uint64_t mask = cycle_mask(n);
    for (size_t i = 0; i < n; i++) next[i] = initial_next(n, mask, i);
    start[0] = initial_start(n);
    steps[0] = initial_steps(n);
    reached[0] = initial_reached(n);
}

static void run_chase(size_t n, void **arrays)
{
    const size_t *start = arrays[1], *steps = arrays[2];
    size_t *reached = arrays[3];
    (void)n;
    reached[0] = chase(arrays[0], start[0], steps[0]);
}

const struct numalab_phase numalab_phases[] = {
    {"initialize_triad", initialize_triad},
    {"triad", run_triad},
    {"initialize_chase", initialize_chase},
    {"chase", run_chase},
    {NULL, NULL},
};
