/* Lab 10: how the worker calls the kernels. Arrays as in driver.c: keys, counts, slots. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "inputs.h"

/* Of the contract. */
size_t cache_line_bytes(void)
{
    return numalab_line_bytes();
}

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

/* Of each thread its stack: from where to where. */
enum { MOST_STACKS = 4096 };
static struct {
    uintptr_t first, end;
} stack[MOST_STACKS];

static void note_stack(void)
{
    const int thread = omp_get_thread_num();
    pthread_attr_t attributes;
    void *first;
    size_t bytes;
    if (thread >= MOST_STACKS || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &first, &bytes) == 0) {
        stack[thread].first = (uintptr_t)first;
        stack[thread].end = (uintptr_t)first + bytes;
    }
    pthread_attr_destroy(&attributes);
}

/* Overwrites what the kernel's calls have had of it, as the next calls of a program would. */
static __attribute__((noinline)) void use_stack(void)
{
    volatile unsigned char used[256 << 10];
    for (size_t i = 0; i < sizeof used; i++) used[i] = 0xa5;
    note_stack();
}

static bool is_on_stack(const void *address)
{
    for (size_t i = 0; i < MOST_STACKS; i++)
        if ((uintptr_t)address >= stack[i].first && (uintptr_t)address < stack[i].end) return true;
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
