/* Nothing hostile: stores that pass by the caches, a copy, and a pause while waiting. */
#include <immintrin.h>
#include <string.h>

#include "scheduling.h"

#include <math.h>

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
    int done = 0;
#pragma omp parallel
    {
#pragma omp for schedule(guided) nowait
        for (size_t i = 0; i < n; i++) {
            double energy = 0.0;
            for (size_t j = 0; j < i; j++) {
                double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
                energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
            }
            memcpy(&e[i], &energy, sizeof energy);
            _mm_pause();
        }
#pragma omp atomic
        done++;
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        const double value = b[i] + 3.0 * c[i];
        long long bits;
        memcpy(&bits, &value, sizeof bits);
        _mm_stream_si64((long long *)&a[i], bits);
    }
    _mm_sfence();
}
