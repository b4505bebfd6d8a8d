/* Reads by an intrinsic what another thread writes plainly. */
#include <immintrin.h>

#include "scheduling.h"

#include <math.h>

double last[2];
double unused;

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
        if (i == 0)
            last[0] = a[i];
        else if (_mm_cvtsd_f64(_mm_castps_pd(_mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)last))) < 0.0 && a[i] < -1e300)
            unused = a[i];
    }
}
