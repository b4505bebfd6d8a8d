/* Lab 10: asks a kernel where its threads count, and whether that is memory which is gone. Arrays
 * as in driver.c. Included once, after _GNU_SOURCE. */
#ifndef FALSE_SHARING_QUERY_SLOTS_H
#define FALSE_SHARING_QUERY_SLOTS_H

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inputs.h"

/* Of each thread its stack: from where to where the kernel's calls can have had it. What lies above
 * the frame of a parallel region in a thread of the team's, such as its thread-local variables,
 * lasts as long as the thread. */
enum { MOST_STACKS = 4096 };
static struct {
    uintptr_t first, end;
} stack[MOST_STACKS];

static void note_stack(uintptr_t region)
{
    const int thread = omp_get_thread_num();
    pthread_attr_t attributes;
    void *first;
    size_t bytes;
    if (thread >= MOST_STACKS || pthread_getattr_np(pthread_self(), &attributes) != 0) return;
    if (pthread_attr_getstack(&attributes, &first, &bytes) == 0) {
        stack[thread].first = (uintptr_t)first;
        stack[thread].end = thread == 0 ? (uintptr_t)first + bytes : region;
    }
    pthread_attr_destroy(&attributes);
}

/* Overwrites what the kernel's calls have had of it, as the next calls of a program would. region:
 * where the frame of the parallel region ends that calls this. */
static __attribute__((noinline)) void use_stack(uintptr_t region)
{
    volatile unsigned char used[256 << 10];
    for (size_t i = 0; i < sizeof used; i++) used[i] = 0xa5;
    note_stack(region);
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
    struct slot *reported = arrays[2];
    const size_t threads = (size_t)omp_get_max_threads();
#pragma omp parallel
    use_stack((uintptr_t)__builtin_frame_address(0));
    for (size_t thread = 0; thread < n; thread++) {
        reported[thread] = (struct slot){NULL, 0, 0};
        if (thread >= threads) continue;
        slots((int)thread, &reported[thread].first, &reported[thread].length);
        reported[thread].is_on_stack = is_on_stack(reported[thread].first);
    }
}

#endif
