/* Lab 01: the kernel in a program of its own, without the kit, to be looked at
 * with the system's tools:
 *
 *   gcc -O2 -fopenmp alone.c kernel.c -o alone
 *   OMP_PLACES=cores OMP_PROC_BIND=spread ./alone &
 *
 * (Fortran: gfortran -O2 -fopenmp -c kernel.f90, and kernel.o in place of
 * kernel.c.) Three arrays of 32 MiB; it tells the time of compute, and then
 * waits a minute. */
#define _POSIX_C_SOURCE 200809L /* for getpid and sleep */
#include "first_touch.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void)
{
    const size_t n = (size_t)1 << 23;
    float *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    float *c = malloc(n * sizeof *c);
    if (!a || !b || !c) return EXIT_FAILURE;

    initialize(n, a, b, c);
    const double start_s = omp_get_wtime();
    compute(n, a, b, c);
    printf("process %ld: %d threads, compute took %.1f ms\n", (long)getpid(),
           omp_get_max_threads(), (omp_get_wtime() - start_s) * 1e3);
    fflush(stdout);
    sleep(60);
    free(a);
    free(b);
    free(c);
    return EXIT_SUCCESS;
}
