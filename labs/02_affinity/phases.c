/* Lab 02: how the worker calls the kernel. Arrays as in driver.c: a, b, c of the part
 * stream; thread_id, pu, numa_node of the part locate. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <omp.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "affinity.h"
#include "scalar.h"

static void run_initialize(size_t n, void **arrays)
{
    initialize(n, arrays[0], arrays[1], arrays[2]);
}

static void run_stream(size_t n, void **arrays)
{
    stream(n, STREAM_SCALAR, arrays[0], arrays[1], arrays[2]);
}

static void run_clear(size_t n, void **arrays)
{
    for (size_t k = 0; k < 3; k++)
        for (size_t i = 0; i < n; i++) ((int32_t *)arrays[k])[i] = -1;
}

static void run_locate(size_t n, void **arrays)
{
    int32_t *thread_id = arrays[0], *pu = arrays[1], *numa_node = arrays[2];
#pragma omp parallel
    {
        const size_t i = (size_t)omp_get_thread_num();
        int here = -1, node = -1;
        locate(&here, &node);
        if (i < n) {
            thread_id[i] = (int32_t)syscall(SYS_gettid);
            pu[i] = here;
            numa_node[i] = node;
        }
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", run_initialize},
    {"stream", run_stream},
    {"clear", run_clear},
    {"locate", run_locate},
    {NULL, NULL},
};
