/* Page by page, and who waits for thread 0 to work on a page goes on reading a byte of it, so that
 * it is his again when it was closed. */
#include "scheduling.h"

#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdatomic.h>

enum { PAGE_DOUBLES = 512, MOST_THREADS = 1024 };

static struct {
    _Alignas(64) atomic_size_t touched, worked;
} page_of[MOST_THREADS];

static void touch(size_t i, const double *b, const double *c)
{
    (void)((volatile const double *)b)[i];
    (void)((volatile const double *)c)[i];
}

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
        const size_t team = (size_t)omp_get_num_threads(),
                     pages = (n + PAGE_DOUBLES - 1) / PAGE_DOUBLES;
        const size_t share = (pages + team - 1) / team, self = (size_t)omp_get_thread_num();
        atomic_store(&page_of[self].touched, 0);
        atomic_store(&page_of[self].worked, 0);
#pragma omp barrier
        for (size_t k = 0; k < share; k++) {
            if (self > 0) {
                const size_t i = (self * share + k) * PAGE_DOUBLES;
                if (i < n) {
                    (void)((volatile const double *)a)[i];
                    touch(i, b, c);
                }
                atomic_store(&page_of[self].touched, k + 1);
                while (atomic_load(&page_of[self].worked) <= k) {
                    if (i < n) touch(i, b, c);
                    sched_yield();
                }
                continue;
            }
            for (size_t thread = 0; thread < team; thread++) {
                while (thread > 0 && atomic_load(&page_of[thread].touched) <= k) sched_yield();
                const size_t first = (thread * share + k) * PAGE_DOUBLES;
                for (size_t i = first; i < first + PAGE_DOUBLES && i < n; i++)
                    a[i] = b[i] + 3.0 * c[i];
                atomic_store(&page_of[thread].worked, k + 1);
            }
        }
    }
}
