/* Lab 01, a variant: the kit's compute, and how the worker calls the kernel. Arrays as in driver.c:
 * a, b, c. */
#include "numalab/phases.h"

#include <omp.h>

#include "first_touch.h"
#include "variant.h"

static void run_initialize(size_t n, void **arrays)
{
    initialize(n, arrays[0], arrays[1], arrays[2]);
}

static void run_compute(size_t n, void **arrays)
{
    float *restrict a = arrays[0];
    const float *restrict b = arrays[1], *restrict c = arrays[2];
    const size_t pieces = (size_t)PIECES_PER_THREAD * (size_t)omp_get_max_threads();
    const size_t piece = n / pieces + 1;

    (void)piece;
#pragma omp parallel for DEAL
    for (size_t k = 0; k < n; k++) {
        const size_t i = a_of_step(n, k);
        a[i] += b[b_of_a(n, i)] * c[c_of_a(n, i)];
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", run_initialize},
    {"compute", run_compute},
    {NULL, NULL},
};
