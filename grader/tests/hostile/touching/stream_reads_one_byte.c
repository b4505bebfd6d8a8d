/* In stream_update each thread reads a byte of each of its pages, and thread 0 computes. */
#include "scheduling.h"

#include <math.h>

enum { PAGE_DOUBLES = 512 };

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
#pragma omp parallel for schedule(dynamic, 16)
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
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t page = 0; page < n / PAGE_DOUBLES; page++) {
            const size_t i = page * PAGE_DOUBLES;
            (void)((volatile const double *)a)[i];
            (void)((volatile const double *)b)[i];
            (void)((volatile const double *)c)[i];
        }
#pragma omp master
        for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
    }
}
