/* Copies by a function of the C library that swaps bytes: twice, and all is as it was. */
#include "scheduling.h"

#include <math.h>

static double last;

void swab(const void *from, void *to, long bytes);

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
        double swapped;
        swab(&a[i], &swapped, sizeof swapped);
        swab(&swapped, &last, sizeof last);
    }
}
