/* A segment of shared memory that is attached for each thread. */
#include "scheduling.h"

#include <math.h>

#include <omp.h>
#include <sys/ipc.h>
#include <sys/shm.h>

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
        const int segment = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
        for (int i = 0; i < MOST; i++) last[i] = shmat(segment, NULL, 0);
        shmctl(segment, IPC_RMID, NULL);
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 3.0 * c[i];
        *last[omp_get_thread_num() % MOST] = a[i];
    }
}
