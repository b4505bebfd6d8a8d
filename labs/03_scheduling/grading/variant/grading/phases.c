/* Lab 03, a variant: how the worker calls the kernel, and the first touch, which is the kit's here.
 * Arrays as in driver.c: a, b, c. */
#include "numalab/phases.h"

#include <omp.h>

#include "inputs.h"
#include "scheduling.h"
#include "variant.h"

static void initialize_stream(size_t n, void **arrays)
{
    double *a = arrays[0], *b = arrays[1], *c = arrays[2];
    const size_t pieces = (size_t)PIECES_PER_THREAD * (size_t)omp_get_max_threads();
    const size_t piece = n / pieces + 1;

    (void)piece;
#pragma omp parallel for DEAL
    for (size_t k = 0; k < n; k++) {
        const size_t i = element_of_step(n, k);
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
    {"initialize_stream", initialize_stream},
    {"stream_update", run_stream_update},
    {NULL, NULL},
};
