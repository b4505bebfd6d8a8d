/* Static; a thread of its own, on no core in particular, burns time for the early one. */
#define _GNU_SOURCE
#include "scheduling.h"

#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_int burns;

static double row(size_t i, const double *x, const double *y, const double *z)
{
    double energy = 0.0;
    for (size_t j = 0; j < i; j++) {
        double dx = x[i] - x[j], dy = y[i] - y[j], dz = z[i] - z[j];
        energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
    }
    return energy;
}

static void *burn(void *unused)
{
    while (atomic_load(&burns)) continue;
    return unused;
}

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
    pthread_t other;
#pragma omp parallel
    {
        int is_early = 0;
#pragma omp for schedule(static) nowait
        for (size_t i = 0; i < n; i++) e[i] = row(i, x, y, z);
        is_early = omp_get_thread_num() == 0 && omp_get_num_threads() > 1;
        if (is_early) {
            atomic_store(&burns, 1);
            if (pthread_create(&other, NULL, burn, NULL) != 0) atomic_store(&burns, 0);
        }
#pragma omp barrier
        if (is_early && atomic_exchange(&burns, 0)) pthread_join(other, NULL);
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}
