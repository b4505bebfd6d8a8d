/* Lab 03: who gets which iterations under the schedules of OpenMP, with the
 * compiler and the runtime that you build this with. Nothing of the kit is in
 * it:
 *
 *   gcc -O2 -fopenmp dealt.c -o dealt && ./dealt
 *   clang -O2 -fopenmp dealt.c -o dealt && ./dealt
 *
 * "own": the share of iterations done by the thread that static gives them to;
 * "kept": the share that the same thread did in the call before; "ns": time of
 * an iteration, in the quickest of a few calls. With T threads, chance alone
 * gives 1/T of each. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

static void report(const char *schedule, size_t n, const int *static_share,
                   const int *first, const int *second, double elapsed_s)
{
    size_t own = 0, kept = 0;
    for (size_t i = 0; i < n; i++) {
        own += second[i] == static_share[i];
        kept += second[i] == first[i];
    }
    printf("%-20s own %3.0f %%  kept %3.0f %%  %6.1f ns\n", schedule,
           100.0 * (double)own / (double)n, 100.0 * (double)kept / (double)n,
           elapsed_s / (double)n * 1e9);
}

/* A loop with this schedule clause, which notes who did what. */
#define PRAGMA(text) _Pragma(#text)
#define DEAL(name, ...)                                                   \
    static void name(size_t n, int *by)                                   \
    {                                                                     \
        PRAGMA(omp parallel for schedule(__VA_ARGS__))                    \
        for (size_t i = 0; i < n; i++) by[i] = omp_get_thread_num();      \
    }

DEAL(deal_static, static)
DEAL(deal_dynamic, dynamic)
DEAL(deal_monotonic, monotonic : dynamic)
DEAL(deal_nonmonotonic, nonmonotonic : dynamic)
DEAL(deal_chunks, dynamic, 512)
DEAL(deal_guided, guided)

int main(void)
{
    static const struct {
        const char *schedule;
        void (*deal)(size_t n, int *by);
    } loops[] = {{"static", deal_static},
                 {"dynamic", deal_dynamic},
                 {"monotonic:dynamic", deal_monotonic},
                 {"nonmonotonic:dynamic", deal_nonmonotonic},
                 {"dynamic,512", deal_chunks},
                 {"guided", deal_guided}};
    enum { CALLS = 5 };
    const size_t n = 2000000;
    int *static_share = calloc(n, sizeof *static_share);
    int *first = calloc(n, sizeof *first), *second = calloc(n, sizeof *second);
    if (!static_share || !first || !second) return EXIT_FAILURE;

    printf("%d threads, %zu iterations\n", omp_get_max_threads(), n);
    deal_static(n, static_share);
    for (size_t k = 0; k < sizeof loops / sizeof loops[0]; k++) {
        double least_s = 1e9;
        loops[k].deal(n, first);
        for (int call = 0; call < CALLS; call++) {
            const double start_s = omp_get_wtime();
            loops[k].deal(n, second);
            const double elapsed_s = omp_get_wtime() - start_s;
            if (elapsed_s < least_s) least_s = elapsed_s;
        }
        loops[k].deal(n, first);
        report(loops[k].schedule, n, static_share, first, second, least_s);
    }
    free(static_share);
    free(first);
    free(second);
    return EXIT_SUCCESS;
}
