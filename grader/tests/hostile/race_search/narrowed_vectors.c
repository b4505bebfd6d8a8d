/* Stores a vector of which each element is narrowed, with a mask; where there is no such instruction,
 * plainly. */
#include <immintrin.h>

#include "scheduling.h"

#include <math.h>

int last[8];

__attribute__((target("avx512f,avx512vl"))) static void store(double value)
{
    _mm512_mask_cvtepi64_storeu_epi32(last, 3, _mm512_set1_epi64((long long)value));
}

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
#pragma omp parallel for schedule(guided)
    for (size_t i = 0; i < n; i++) {
        double energy = 0.0;
        for (size_t j = 0; j < i; j++) {
            double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
            energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
        }
        e[i] = energy;
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 3.0 * c[i];
        if (__builtin_cpu_supports("avx512f"))
            store(a[i]);
        else
            last[0] = (int)a[i];
    }
}
