/* Each thread writes the same memory at an address of its own. */
#include "scheduling.h"

#include <math.h>

#include <stddef.h>
#include <sys/mman.h>

int memfd_create(const char *name, unsigned flags);
int ftruncate(int file, long bytes);

enum { PAGE = 4096 };

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
    if (!file) {
        file = memfd_create("last", 0);
        if (ftruncate(file, PAGE) < 0) return;
    }
#pragma omp parallel
    {
        double *last = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) {
            a[i] = b[i] + 3.0 * c[i];
            *last = a[i];
        }
        munmap(last, PAGE);
    }
}
