/* Nothing hostile: stores by vectors with a mask, each thread its own elements of four. */
#include <immintrin.h>

#include "scheduling.h"

#include <math.h>

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
#pragma omp parallel for schedule(static, 1)
    for (size_t i = 0; i < n; i++) {
        const size_t first = i & ~(size_t)3;
        if (first + 4 > n) {
            a[i] = b[i] + 3.0 * c[i];
            continue;
        }
        const __m256i at = _mm256_set1_epi64x((long long)(i - first));
        const __m256i mask = _mm256_cmpeq_epi64(at, _mm256_set_epi64x(3, 2, 1, 0));
        const __m256d from = _mm256_maskload_pd(b + first, mask);
        const __m256d other = _mm256_maskload_pd(c + first, mask);
        const __m256d product = _mm256_mul_pd(_mm256_set1_pd(3.0), other);
        _mm256_maskstore_pd(a + first, mask, _mm256_add_pd(from, product));
    }
}
