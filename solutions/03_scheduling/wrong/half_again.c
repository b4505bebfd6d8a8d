#include "scheduling.h"

#include <math.h>

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
#pragma omp parallel for schedule(guided)
    for (size_t i = 0; i < n; i++) {
        double energy = 0.0;
        /* Half of them are not needed. */
        for (size_t k = 0; k < i + i / 2; k++) {
            size_t j = k < i ? k : k - i;

            double dx = x[i] - x[j];
            double dy = y[i] - y[j];
            double dz = z[i] - z[j];
            double term = 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
            energy += k < i ? term : 0.0 * term;
        }
        e[i] = energy;
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}
