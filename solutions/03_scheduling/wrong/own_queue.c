/* Wrong: a queue of one's own: reading the next row and moving it on are two steps, and
 * volatile does not make them one. Two threads that meet there leave rows out: with two
 * threads and n = 2000 in 9 of 20,000 calls. */
#include "scheduling.h"

#include <math.h>
#include <omp.h>

enum { CHUNK = 64 };
static volatile size_t next;

void pair_energy(size_t n, const double *x, const double *y, const double *z, double *e)
{
    next = (size_t)omp_get_max_threads() * CHUNK;
#pragma omp parallel
    {
        size_t first = (size_t)omp_get_thread_num() * CHUNK;
        while (first < n) {
            for (size_t i = first; i < n && i < first + CHUNK; i++) {
                double energy = 0.0;
                for (size_t j = 0; j < i; j++) {
                    double dx = x[i] - x[j];
                    double dy = y[i] - y[j];
                    double dz = z[i] - z[j];
                    energy += 1.0 / sqrt(dx * dx + dy * dy + dz * dz + 1e-6);
                }
                e[i] = energy;
            }
            first = next;
            next += CHUNK;
        }
    }
}

void stream_update(size_t n, double *a, const double *b, const double *c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + 3.0 * c[i];
}
