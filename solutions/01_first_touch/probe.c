/* Lab 01: what lightspeed is measured by. grader/README.md has more.
 *
 * The reads and writes of compute: three arrays are read, one of them is written. Each thread
 * writes its share first and is the only one to use it; vectors are asked for by name. */
#include "numalab/phases.h"

static void initialize(size_t n, void **arrays)
{
    float *restrict a = arrays[0], *restrict b = arrays[1], *restrict c = arrays[2];
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

static void compute(size_t n, void **arrays)
{
    float *restrict a = arrays[0];
    const float *restrict b = arrays[1], *restrict c = arrays[2];
#pragma omp parallel for simd schedule(static)
    for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", initialize},
    {"compute", compute},
    {NULL, NULL},
};
