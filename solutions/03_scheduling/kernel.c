/* Lab 03: scheduling, a solution; README.md beside it says why it works. */
#include "scheduling.h"

#include <math.h>

void pair_energy(size_t n, const double *restrict x, const double *restrict y,
                 const double *restrict z, double *restrict e)
{
#pragma omp parallel for schedule(guided)
    for (size_t i = 0; i < n; i++) {
        double energy = 0.0;
        for (size_t j = 0; j < i; j++) {
            double dx = x[i] - x[j];
            double dy = y[i] - y[j];
            double dz = z[i] - z[j];
            energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
        }
        e[i] = energy;
    }
}

void stream_update(size_t n, double *restrict a, const double *restrict b,
                   const double *restrict c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}
