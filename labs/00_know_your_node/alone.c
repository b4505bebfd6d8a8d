/* Lab 00: the kernels in a program of its own, without the kit:
 *
 *   gcc -O2 -fopenmp alone.c kernel.c -o alone
 *   OMP_PLACES=cores OMP_PROC_BIND=spread ./alone [MiB per array, 256]
 *
 * (Fortran: gfortran -O2 -fopenmp -c kernel.f90, and kernel.o in place of
 * kernel.c.) It tells the best rate of triad in GB/s, counted in both ways, and
 * the ns of a step of chase, or that a result is wrong. */
#include "know_your_node.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { REPETITIONS = 10, STEPS = 1 << 20 };

static int measure_triad(size_t n)
{
    double *a = malloc(n * sizeof *a), *b = malloc(n * sizeof *b);
    double *c = malloc(n * sizeof *c);
    if (!a || !b || !c) return -1;
    /* In parallel: each page near the thread that will use it (lab 01). */
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        a[i] = -1.0;
        b[i] = (double)(i % 1021);
        c[i] = 1.0;
    }
    double best_s = 0.0;
    for (int r = 0; r < REPETITIONS; r++) {
        const double start_s = omp_get_wtime();
        triad(n, 1.0 + r, a, b, c);
        const double took_s = omp_get_wtime() - start_s;
        if (r == 0 || took_s < best_s) best_s = took_s;
    }
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += !(a[i] == b[i] + (double)REPETITIONS * c[i]);
    const double array_gb = (double)n * sizeof *a / 1e9;
    printf("triad: %.1f GB/s as STREAM counts, %.1f GB/s with write-allocate",
           3 * array_gb / best_s, 4 * array_gb / best_s);
    printf("; %d threads, %zu elements wrong\n", omp_get_max_threads(), wrong);
    free(a);
    free(b);
    free(c);
    return 0;
}

/* Sattolo's algorithm: exchanges that leave one cycle through all elements. */
static void make_cycle(size_t n, size_t *next)
{
    uint64_t state = 88172645463325252u; /* xorshift, G. Marsaglia (2003) */
    for (size_t i = 0; i < n; i++) next[i] = i;
    for (size_t i = n - 1; i > 0; i--) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const size_t j = (size_t)(state % i), kept = next[i];
        next[i] = next[j];
        next[j] = kept;
    }
}

static int measure_chase(size_t n)
{
    size_t *next = malloc(n * sizeof *next);
    if (!next) return -1;
    make_cycle(n, next);
    size_t start = 0;
    int wrong = 0;
    double best_s = 0.0;
    for (int r = 0; r < REPETITIONS; r++) {
        const double start_s = omp_get_wtime();
        const size_t reached = chase(next, start, STEPS);
        const double took_s = omp_get_wtime() - start_s;
        if (r == 0 || took_s < best_s) best_s = took_s;
        size_t end = start;
        for (int step = 0; step < STEPS; step++) end = next[end];
        wrong += reached != end;
        start = end;
    }
    printf("chase: %.1f ns per step; %d of %d walks ended wrong\n",
           best_s / STEPS * 1e9, wrong, REPETITIONS);
    free(next);
    return 0;
}

int main(int argc, char **argv)
{
    const long mib = argc > 1 ? strtol(argv[1], NULL, 10) : 256;
    if (argc > 2 || mib < 1 || mib > 1 << 20) {
        fprintf(stderr, "usage: %s [MiB per array, from 1 on]\n", argv[0]);
        return EXIT_FAILURE;
    }
    const size_t n = (size_t)mib * (1 << 20) / sizeof(double);
    if (measure_triad(n) || measure_chase(n)) {
        fprintf(stderr, "%s: not enough memory for %ld MiB\n", argv[0], mib);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
