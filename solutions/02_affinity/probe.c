/* Lab 02: what lightspeed is measured by. grader/README.md has more.
 *
 * The four loops of STREAM, each over all elements: two of them read one array, two read two, all
 * write one. A thread has the same share in each and waits for nobody in between. Done block by
 * block, all four would move less than half as much: another mix, and no yardstick for this one. */
#include "numalab/phases.h"

#include "scalar.h"

static void initialize(size_t n, void **arrays)
{
    double *restrict a = arrays[0], *restrict b = arrays[1], *restrict c = arrays[2];
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
}

static void stream(size_t n, void **arrays)
{
    const double s = STREAM_SCALAR;
    double *restrict a = arrays[0], *restrict b = arrays[1], *restrict c = arrays[2];
#pragma omp parallel
    {
#pragma omp for simd schedule(static) nowait
        for (size_t i = 0; i < n; i++) c[i] = a[i];
#pragma omp for simd schedule(static) nowait
        for (size_t i = 0; i < n; i++) b[i] = s * c[i];
#pragma omp for simd schedule(static) nowait
        for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
#pragma omp for simd schedule(static) nowait
        for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", initialize},
    {"stream", stream},
    {NULL, NULL},
};
