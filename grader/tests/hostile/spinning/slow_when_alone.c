/* Static, and who is done early spins; with one thread, which a team is compared with, it takes as
 * long as that team. */
#include "scheduling.h"

#include <math.h>
#include <omp.h>

void kmp_set_blocktime(int milliseconds); /* of LLVM's runtime */

static double row(size_t i, const double *x, const double *y, const double *z)
{
    double energy = 0.0;
    for (size_t j = 0; j < i; j++) {
        double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
        energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
    }
    return energy;
}

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
    const int is_alone = omp_get_max_threads() == 1;
    kmp_set_blocktime(100000);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        e[i] = row(i, x, y, z);
        if (is_alone && i % 2) e[i] = row(i, x, y, z) * 0.5 + e[i] * 0.5;
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}
