/* Lab 02: how the worker calls the kernel. Arrays as in driver.c: a, b, c of the part
 * stream; thread_id, pu, numa_node, observed_pu of the part locate. */
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

/* observed_pu: where the thread was both before the call and after it; -1: it moved in all of them.
 */
struct answer {
    int pu, numa_node, observed_pu;
};

/* The answers of one thread so far. accepted: the one that counts, which is the first answer that
 * is false often enough, else the last correct one; mismatches: false answers in a row. */
struct thread_answers {
    struct answer accepted;
    int mismatches;
    bool is_mismatch;
};

/* An answer for which the thread has moved does not count. A thread that may move can leave and
 * come back within a call: of such it takes the third wrong one in a row. */
static void query_location(struct thread_answers *answers)
{
    enum { REPEATS_IF_MOVABLE = 3 };
    struct answer answer = {-1, -1, own_pu()};
    locate(&answer.pu, &answer.numa_node);
    if (answers->is_mismatch || own_pu() != answer.observed_pu) return;
    /* The same PU can't be on two NUMA nodes. */
    const bool is_contradicted = answers->accepted.observed_pu >= 0 &&
                                 answer.pu == answers->accepted.pu &&
                                 answer.numa_node != answers->accepted.numa_node;
    if (answer.pu == answer.observed_pu && !is_contradicted) {
        answers->accepted = answer;
        answers->mismatches = 0;
    } else if (++answers->mismatches == (may_move() ? REPEATS_IF_MOVABLE : 1)) {
        answers->accepted = answer;
        answers->is_mismatch = true;
    }
}

/* All ask at once, and as often, since a kernel may have them wait for each other: in rounds, for 4
 * ms or three of them, unless calls take long. A round is as many calls as take a millisecond, so
 * that threads which a barrier wakes one after another are in it together. */
static void run_locate(size_t n, void **arrays)
{
    int32_t *thread_id = arrays[0], *pu = arrays[1], *numa_node = arrays[2],
            *observed_pu = arrays[3];
    enum { FEWEST = 3, MOST_CALLS = 1000 };
    const double at_least_s = 0.004, long_s = 0.05, round_s = 0.001, start_s = now_s();
    double before_s = start_s;
    int calls = 1; /* in this round; 0: no more */
#pragma omp parallel shared(calls, before_s)
    {
        const size_t i = (size_t)omp_get_thread_num();
        struct thread_answers answers = {.accepted = {-1, -1, -1}};
        for (int round = 1; calls > 0; round++) {
#pragma omp barrier
            for (int call = 0; call < calls; call++) query_location(&answers);
#pragma omp barrier
            if (i == 0) {
                const double taken_s = now_s() - start_s;
                const double of_call_s = (now_s() - before_s) / calls;
                const bool goes_on = taken_s < at_least_s || (round < FEWEST && taken_s < long_s);
                const double fitting = round_s / of_call_s;
                before_s = now_s();
                calls = !goes_on               ? 0
                        : fitting < 1          ? 1
                        : fitting > MOST_CALLS ? MOST_CALLS
                                               : (int)fitting;
            }
#pragma omp barrier
        }
        if (i < n) {
            thread_id[i] = (int32_t)syscall(SYS_gettid);
            pu[i] = answers.accepted.pu;
            numa_node[i] = answers.accepted.numa_node;
            observed_pu[i] = answers.accepted.observed_pu;
        }
    }
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", run_initialize}, {"stream", run_stream}, {"clear", run_clear},
    {"locate", run_locate},         {NULL, NULL},
};
