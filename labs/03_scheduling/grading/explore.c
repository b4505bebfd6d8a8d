/* What ./numalab explore 03_scheduling runs: C = A B, the naive way, its rows shared out
 * by schedule(runtime). One process is one sample. By hand:
 *
 *   OMP_NUM_THREADS=2 OMP_SCHEDULE=dynamic,4 .../03_scheduling-explore 500
 *
 * A and B are filled with ones, so every element of C has to be n (SVP-BLOG's idea): each
 * run is verified. The main thread fills all three, as a naive program does; with several
 * NUMA nodes all pages lie on its node. Exit code 0: the record is on standard output; 1: a
 * wrong product; 2: wrong use; 3: no memory. */
#include <errno.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

enum { EXIT_MISMATCH = 1, EXIT_MISUSE = 2, EXIT_MEMORY = 3 };
enum { LARGEST_N = 1 << 20 }; /* n * n * sizeof(double) fits in size_t */

/* Indexed by omp_sched_t less its modifier. */
static const char *const schedule_names[] = {
    [omp_sched_static] = "static",
    [omp_sched_dynamic] = "dynamic",
    [omp_sched_guided] = "guided",
    [omp_sched_auto] = "auto",
};

static void multiply(size_t n, const double *a, const double *b, double *c)
{
#pragma omp parallel for schedule(runtime)
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0.0;
            for (size_t k = 0; k < n; k++) sum += a[i * n + k] * b[k * n + j];
            c[i * n + j] = sum;
        }
}

/* True if every element is n; otherwise says on standard error which is not. Sums of ones
 * are exact, and the negated comparison lets no NaN through. */
static bool is_product_correct(size_t n, const double *c)
{
    for (size_t element = 0; element < n * n; element++)
        if (!(c[element] == (double)n)) {
            fprintf(stderr, "the product is wrong: C[%zu][%zu] is %g, not %zu\n", element / n,
                    element % n, c[element], n);
            return false;
        }
    return true;
}

static double *filled(size_t elements, double value)
{
    double *array = malloc(elements * sizeof *array);
    if (!array) return NULL;
    for (size_t element = 0; element < elements; element++) array[element] = value;
    return array;
}

/* Starts the team, so that this is not in the time. Returns its size. */
static int start_threads(void)
{
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    threads += 1;
    return threads;
}

/* 0, -ENOMEM, or -EBADMSG for a wrong product. */
static int measure(size_t n, double *elapsed_s)
{
    double *a = filled(n * n, 1.0), *b = filled(n * n, 1.0), *c = filled(n * n, NAN);
    int error = a && b && c ? 0 : -ENOMEM;
    if (!error) {
        const double start_s = omp_get_wtime();
        multiply(n, a, b, c);
        *elapsed_s = omp_get_wtime() - start_s;
        if (!is_product_correct(n, c)) error = -EBADMSG;
    }
    free(a);
    free(b);
    free(c);
    return error;
}

/* 0, or -EINVAL if text is not a number from 1 to LARGEST_N. */
static int read_n(const char *text, size_t *n)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (errno || *end || end == text || value < 1 || value > LARGEST_N) return -EINVAL;
    *n = (size_t)value;
    return 0;
}

int main(int argc, char **argv)
{
    size_t n;
    if (argc != 2 || read_n(argv[1], &n)) {
        fprintf(stderr, "usage: [OMP_SCHEDULE=KIND,CHUNK] %s N (1 to %d)\n", argv[0], LARGEST_N);
        return EXIT_MISUSE;
    }
    /* 4 KiB pages, whatever the system's mode: huge pages are another lab's question. */
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    omp_set_dynamic(0);
    const int threads = start_threads();
    omp_sched_t schedule;
    int chunk;
    omp_get_schedule(&schedule, &chunk);
    const unsigned kind = (unsigned)schedule & ~(unsigned)omp_sched_monotonic;

    double elapsed_s = 0.0;
    const int error = measure(n, &elapsed_s);
    if (error == -ENOMEM) {
        fprintf(stderr, "three matrices of %zu x %zu do not fit in memory\n", n, n);
        return EXIT_MEMORY;
    }
    if (error) return EXIT_MISMATCH;
    printf("{\"n\": %zu, \"threads\": %d, \"schedule\": \"%s\", \"chunk\": %d, "
           "\"elapsed_s\": %.9f}\n",
           n, threads,
           kind < sizeof schedule_names / sizeof *schedule_names ? schedule_names[kind] : "other",
           chunk, elapsed_s);
    return EXIT_SUCCESS;
}
