/* Lab 02: how the worker calls the kernel. Arrays as in driver.c: a, b, c of the part
 * stream; thread_id, pu, numa_node, seen_pu of the part locate. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <omp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
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
    for (size_t k = 0; k < 4; k++)
        for (size_t i = 0; i < n; i++) ((int32_t *)arrays[k])[i] = -1;
}

/* Not by a function that a kernel could have defined, too. */
static int own_pu(void)
{
    unsigned pu = 0;
    return syscall(SYS_getcpu, &pu, NULL, NULL) == 0 ? (int)pu : -1;
}

static bool may_move(void)
{
    cpu_set_t set;
    return sched_getaffinity(0, sizeof set, &set) < 0 || CPU_COUNT(&set) != 1;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* seen_pu: where the thread was both before the call and after it; -1: it moved in all of them. */
struct answer {
    int pu, numa_node, seen_pu;
};

/* Asks for a while, so that threads ask at once, and at least once. An answer for which the thread
 * has moved does not count. Returns the first wrong one, else the last one. A thread that may move
 * can leave and come back within a call: of such the third wrong one in a row. */
static struct answer ask(void)
{
    enum { MOST = 10000, OF_MOVABLE = 3 };
    const double at_least_s = 0.002;
    const int wrong_enough = may_move() ? OF_MOVABLE : 1;
    const double start_s = now_s();
    struct answer right = {-1, -1, -1};
    int wrong = 0;
    for (int calls = 0; calls < MOST; calls++) {
        struct answer told = {-1, -1, own_pu()};
        locate(&told.pu, &told.numa_node);
        const bool is_late = now_s() - start_s > at_least_s;
        if (own_pu() != told.seen_pu) {
            if (is_late) break; /* where calls take long it may move in each */
            continue;
        }
        /* The same PU can't be on two NUMA nodes. */
        const bool is_contradicted =
            told.pu == right.pu && right.seen_pu >= 0 && told.numa_node != right.numa_node;
        if (told.pu == told.seen_pu && !is_contradicted) {
            right = told;
            wrong = 0;
        } else if (++wrong == wrong_enough) {
            return told;
        }
        if (is_late && wrong == 0) break;
    }
    return right;
}

static void run_locate(size_t n, void **arrays)
{
    int32_t *thread_id = arrays[0], *pu = arrays[1], *numa_node = arrays[2], *seen_pu = arrays[3];
#pragma omp parallel
    {
        const size_t i = (size_t)omp_get_thread_num();
#pragma omp barrier
        const struct answer told = ask();
        if (i < n) {
            thread_id[i] = (int32_t)syscall(SYS_gettid);
            pu[i] = told.pu;
            numa_node[i] = told.numa_node;
            seen_pu[i] = told.seen_pu;
        }
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", run_initialize}, {"stream", run_stream}, {"clear", run_clear},
    {"locate", run_locate},         {NULL, NULL},
};
