/* Lab 03: what lightspeed of stream_update is measured by. grader/README.md has more.
 *
 * Two arrays are read, one is written, whose lines are fetched first. Each thread writes its share
 * first and is the only one to use it; vectors are asked for by name. */
#include "numalab/phases.h"

#include "inputs.h"

static void initialize_stream(size_t n, void **arrays)
{
    double *restrict a = arrays[0], *restrict b = arrays[1], *restrict c = arrays[2];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = initial_a;
        b[i] = initial_b(i);
        c[i] = initial_c(i);
    }
}

static void stream_update(size_t n, void **arrays)
{
    double *restrict a = arrays[0];
    const double *restrict b = arrays[1], *restrict c = arrays[2];
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}

const struct numalab_phase numalab_phases[] = {
    {"initialize_stream", initialize_stream},
    {"stream_update", stream_update},
    {NULL, NULL},
};
