/* How far apart do counters have to be? Each thread adds to a counter of its own, one by one, with
 * so many bytes from one thread's to the next one's. A program of its own:
 *
 *   gcc -O2 -fopenmp distance.c -o distance && ./distance
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { UPDATES = 10 * 1000 * 1000, REPETITIONS = 5 };
enum { SMALLEST_BYTES = 8, LARGEST_BYTES = 256, PAGE_BYTES = 4096 };

static double update_ns(char *memory, size_t distance_bytes)
{
    double best_s = 0.0;
    for (int repetition = 0; repetition < REPETITIONS; repetition++) {
        const double start_s = omp_get_wtime();
#pragma omp parallel
        {
            const size_t thread = (size_t)omp_get_thread_num();
            /* volatile: each addition goes to memory. */
            volatile int64_t *own = (int64_t *)(void *)(memory + thread * distance_bytes);
            for (int i = 0; i < UPDATES; i++) *own = *own + 1;
        }
        const double taken_s = omp_get_wtime() - start_s;
        if (repetition == 0 || taken_s < best_s) best_s = taken_s;
    }
    return 1e9 * best_s / UPDATES;
}

int main(void)
{
    const size_t threads = (size_t)omp_get_max_threads();
    const size_t pages = threads * LARGEST_BYTES / PAGE_BYTES + 1;
    char *memory = aligned_alloc(PAGE_BYTES, pages * PAGE_BYTES);
    if (!memory) return EXIT_FAILURE;
    for (size_t i = 0; i < pages * PAGE_BYTES; i++) memory[i] = 0;
    printf("%zu threads, %d additions each\n", threads, UPDATES);
    for (size_t bytes = SMALLEST_BYTES; bytes <= LARGEST_BYTES; bytes *= 2)
        printf("%4zu bytes apart  %6.2f ns\n", bytes, update_ns(memory, bytes));
    free(memory);
    return EXIT_SUCCESS;
}
