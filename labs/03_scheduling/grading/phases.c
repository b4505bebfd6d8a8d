/* Lab 03: how the worker calls the kernels, and the first touch, which is the kit's here:
 * schedule(static), so that each thread's share of every array lives on its NUMA node.
 * Arrays as in driver.c: x, y, z, e and a, b, c. */
#include "numalab/phases.h"

#include "inputs.h"
#include "scheduling.h"

static void initialize_pairs(size_t n, void **arrays)
{
    double *x = arrays[0], *y = arrays[1], *z = arrays[2], *e = arrays[3];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        x[i] = initial_x(i);
        y[i] = initial_y(i);
        z[i] = initial_z(i);
        e[i] = initial_e;
    }
}

static void run_pair_energy(size_t n, void **arrays)
{
    pair_energy(n, arrays[0], arrays[1], arrays[2], arrays[3]);
}

static void initialize_stream(size_t n, void **arrays)
{
    double *a = arrays[0], *b = arrays[1], *c = arrays[2];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = initial_a;
        b[i] = initial_b(i);
        c[i] = initial_c(i);
    }
}

static void run_stream_update(size_t n, void **arrays)
{
    stream_update(n, arrays[0], arrays[1], arrays[2]);
}

const struct numalab_phase numalab_phases[] = {
    {"initialize_pairs", initialize_pairs},
    {"pair_energy", run_pair_energy},
    {"initialize_stream", initialize_stream},
    {"stream_update", run_stream_update},
    {NULL, NULL},
};
