/* Shared memory with a name, at an address for each thread from the first call on. */
#include "scheduling.h"

#include <math.h>

#include <fcntl.h>
#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

int ftruncate(int file, off_t bytes);

enum { PAGE = 4096, MOST = 64 };

static double *last[MOST];

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
    if (!last[0]) {
        const int file = shm_open("/last", O_RDWR | O_CREAT, 0600);
        if (file < 0 || ftruncate(file, PAGE) < 0) return;
        shm_unlink("/last");
        for (int i = 0; i < MOST; i++)
            last[i] = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 3.0 * c[i];
        *last[omp_get_thread_num() % MOST] = a[i];
    }
}
