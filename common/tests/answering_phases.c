/* A worker that answers what it is asked, and one that finds stops. Arrays as in test_answers.c:
 * asked, first and second answer. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <stdint.h>
#include <time.h>

static const volatile int64_t *ahead_ns;

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + *ahead_ns;
}

static void clear(size_t n, void **arrays)
{
    (void)n;
    for (int i = 0; i < 3; i++) ((int64_t *)arrays[i])[0] = 0;
}

static void answer(size_t n, void **arrays)
{
    (void)n;
    const int64_t asked = *(const int64_t *)arrays[0];
    *(int64_t *)arrays[1] = asked;
    *(int64_t *)arrays[2] = -asked;
}

static void return_nothing(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
}

static void find_stops(size_t n, void **arrays)
{
    (void)n;
    const int64_t *asked = arrays[0];
    ahead_ns = &asked[2];
    const int64_t begin = now_ns();
    int64_t *count = arrays[1], *stolen_ns = arrays[2];
    *count = *stolen_ns = 0;
    for (int64_t before = begin; before - begin < asked[0];) {
        const int64_t now = now_ns();
        if (now - before >= asked[1]) {
            *count += 1;
            *stolen_ns += now - before;
        }
        before = now;
    }
}

const struct numalab_phase numalab_phases[] = {
    {"clear", clear},           {"answer", answer}, {"say_nothing", return_nothing},
    {"find_stops", find_stops}, {NULL, NULL},
};
