/* Lab 02: affinity. Edit locate here, and the placement files beside; README.md
 * says what to do. */
#include "affinity.h"

void initialize(size_t n, double *restrict a, double *restrict b,
                double *restrict c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 2.0;
        c[i] = 0.0;
    }
}

void stream(size_t n, double s, double *restrict a, double *restrict b,
            double *restrict c)
{
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) c[i] = a[i];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) b[i] = s * c[i];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) c[i] = a[i] + b[i];
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) a[i] = b[i] + s * c[i];
    }
}

void locate(int *pu, int *numa_node)
{
    *pu = -1;
    *numa_node = -1;
}
