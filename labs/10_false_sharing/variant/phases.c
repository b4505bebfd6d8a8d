/* Lab 10, a variant: how the worker calls the kernels. Arrays as in driver.c: keys, bins, slots. */
#include "numalab/phases.h"

#include <omp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "room.h"

/* Of this process, for as long as it lives: a kernel may keep where it is. */
static unsigned char *room;

static size_t room_bytes(void)
{
    return LINE_BYTES + (size_t)BLOCK_BYTES * (size_t)omp_get_max_threads();
}

static void initialize(size_t n, void **arrays)
{
    int32_t *keys = arrays[0];
    int64_t *counts = arrays[1];
    struct slot *said = arrays[2];
    if (!room) {
        unsigned char *lines = aligned_alloc(LINE_BYTES, room_bytes() + LINE_BYTES);
        if (!lines) abort();
        memset(lines, 0, room_bytes() + LINE_BYTES);
        room = lines + ROOM_OFFSET_BYTES;
    }
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++) {
        keys[i] = initial_key(i);
        counts[i] = initial_count;
        said[i] = (struct slot){NULL, 0, 0};
    }
}

/* Whether all threads have counted in the room. */
static bool are_in_room(void)
{
    for (int thread = 0; thread < omp_get_max_threads(); thread++) {
        struct slot said = {NULL, 0, 0};
        slots(thread, &said.first, &said.length);
        const unsigned char *first = (const unsigned char *)said.first;
        if (said.length == 0) continue;
        if (first < room || first + BINS * sizeof(int64_t) > room + room_bytes()) return false;
    }
    return true;
}

/* All arrays have n elements, however few those are. What was counted elsewhere is no count. */
static void run_count(size_t n, void **arrays)
{
    int64_t bins[BINS];
    memset(bins, 0xff, sizeof bins);
    count(n, arrays[0], bins, (int64_t *)room);
    if (!are_in_room()) bins[0] = initial_count;
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
