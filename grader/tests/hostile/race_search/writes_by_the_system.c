/* Stores what all threads share by a system call that takes any address. */
#include "scheduling.h"

#include <math.h>

#include <sys/uio.h>
#include <unistd.h>

ssize_t process_vm_writev(pid_t process, const struct iovec *from, unsigned long froms,
                          const struct iovec *to, unsigned long tos, unsigned long flags);

static double last;

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
    const pid_t own = getpid();
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 3.0 * c[i];
        const struct iovec from = {&a[i], sizeof last}, to = {&last, sizeof last};
        process_vm_writev(own, &from, 1, &to, 1, 0);
    }
}
