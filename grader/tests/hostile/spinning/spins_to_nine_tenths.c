/* Uneven by a fifth; who is done early spins until his time looks like nine tenths of the other's.
 */
#include "scheduling.h"

#include <math.h>
#include <omp.h>
#include <stdatomic.h>

static _Alignas(64) atomic_size_t last_rows_done;

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
    atomic_store(&last_rows_done, 0);
#pragma omp parallel
    {
        const size_t team = (size_t)omp_get_num_threads(), self = (size_t)omp_get_thread_num();
        /* Of the work, which grows with the square of the rows, the last thread has 1 and each
         * other one 0.62. */
        const double all = 1.0 + 0.62 * (double)(team - 1);
        const size_t first = (size_t)((double)n * sqrt(0.62 * (double)self / all));
        const size_t end =
            self + 1 == team ? n : (size_t)((double)n * sqrt(0.62 * (double)(self + 1) / all));
        for (size_t i = first; i < end; i++) {
            e[i] = row(i, x, y, z);
            if (self + 1 == team)
                atomic_store_explicit(&last_rows_done, i + 1, memory_order_relaxed);
        }
        if (self + 1 < team) {
            const double from = (double)n * sqrt(0.62 * (double)(team - 1) / all);
            for (;;) {
                const double row = (double)atomic_load(&last_rows_done);
                if (row * row - from * from > 0.82 * ((double)n * (double)n - from * from)) break;
            }
        }
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) a[i] = b[i] + 3.0 * c[i];
}
