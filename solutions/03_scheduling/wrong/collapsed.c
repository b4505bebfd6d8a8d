/* Wrong: collapse(2) deals out pairs, so two threads add to the row that they divide. */
#include "scheduling.h"

#include <math.h>

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        e[i] = 0.0;
#pragma omp parallel for collapse(2)
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++) {
            double dx = x[i] - x[j];
            double dy = y[i] - y[j];
            double dz = z[i] - z[j];
            e[i] += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
        }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}
