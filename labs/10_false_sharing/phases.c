/* Lab 10: how the worker calls the kernels. Arrays as in driver.c: keys, counts, slots. */
#include "numalab/phases.h"

#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "inputs.h"

static void initialize(size_t n, void **arrays)
{
    int32_t *keys = arrays[0];
    int64_t *counts = arrays[1];
    struct slot *said = arrays[2];
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        keys[i] = initial_key(i);
        counts[i] = initial_count;
        said[i] = (struct slot){NULL, 0, 0};
    }
}

/* All arrays have n elements, however few those are. */
static void run_count(size_t n, void **arrays)
{
    int64_t bins[BINS];
    memset(bins, 0xff, sizeof bins);
    count(n, arrays[0], bins);
    memcpy(arrays[1], bins, (n < BINS ? n : BINS) * sizeof *bins);
}

/* Of each thread: the stack that the kernel's calls have had, which others have next. */
enum { STACK_BYTES = 256 << 10, MOST_STACKS = 4096 };
static uintptr_t stack_begin[MOST_STACKS];

/* Overwrites it, as the next calls of a program would. */
static __attribute__((noinline)) void use_stack(void)
{
    volatile unsigned char used[STACK_BYTES];
    const int thread = omp_get_thread_num();
    for (size_t i = 0; i < sizeof used; i++) used[i] = 0xa5;
    if (thread < MOST_STACKS) stack_begin[thread] = (uintptr_t)used;
}

static bool is_on_stack(const void *address)
{
    for (size_t i = 0; i < MOST_STACKS; i++)
        if (stack_begin[i] && (uintptr_t)address - stack_begin[i] < STACK_BYTES) return true;
    return false;
}

/* What slots says has to hold after other calls. */
static void ask_slots(size_t n, void **arrays)
{
    struct slot *said = arrays[2];
    const size_t threads = (size_t)omp_get_max_threads();
#pragma omp parallel
    use_stack();
    for (size_t thread = 0; thread < n; thread++) {
        said[thread] = (struct slot){NULL, 0, 0};
        if (thread >= threads) continue;
        slots((int)thread, &said[thread].first, &said[thread].length);
        said[thread].on_stack = is_on_stack(said[thread].first);
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", initialize},
    {"count", run_count},
    {"slots", ask_slots},
    {NULL, NULL},
};
