/* Lab 08: how the worker calls the kernels. Arrays as in driver.c: readings, asked, stops,
 * stolen_ns, and a_s, b_s, length, verdict.
 *
 * The clock of the phase noise is made: each call gives the next of the readings that the monitor
 * has put there. A function without arguments has to remember how far it is. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <time.h>

#include "inputs.h"
#include "quiet_node.h"

static struct {
    const int64_t *reading;
    size_t count, taken;
    int64_t last_ns;
} made;

/* Behind the last reading it goes on, for who reads more than there are. */
static int64_t made_now_ns(void)
{
    if (made.taken < made.count)
        made.last_ns = made.reading[made.taken];
    else
        made.last_ns += made.count > 1 ? made.reading[1] - made.reading[0] + 1 : 1;
    made.taken++;
    return made.last_ns;
}

/* It goes ahead where the monitor says so, as where a host takes the core: no other clock tells. */
static const volatile int64_t *ahead_ns;

static int64_t real_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec + *ahead_ns;
}

static void set_clock(size_t n, void **arrays)
{
    int64_t *reading = arrays[0], *request = arrays[1], *stops = arrays[2], *stolen_ns = arrays[3];
    for (size_t i = 0; i < n; i++) reading[i] = initial_reading(i);
    for (size_t i = 0; i < REQUEST_LENGTH; i++) request[i] = initial_request(n, i);
    stops[0] = stolen_ns[0] = initial_answer;
}

static void watch(int64_t (*now_ns)(void), void **arrays)
{
    const int64_t *request = arrays[1];
    int64_t *stops = arrays[2], *stolen_ns = arrays[3];
    noise(now_ns, request[WATCH_NS], request[LEAST_NS], stops, stolen_ns);
}

static void run_noise(size_t n, void **arrays)
{
    made.reading = arrays[0];
    made.count = n;
    made.taken = 0;
    watch(made_now_ns, arrays);
}

static void run_noise_live(size_t n, void **arrays)
{
    const int64_t *request = arrays[1];
    (void)n;
    ahead_ns = &request[AHEAD_NS];
    watch(real_now_ns, arrays);
}

static void set_times(size_t n, void **arrays)
{
    double *a_s = arrays[0], *b_s = arrays[1];
    int64_t *length = arrays[2], *verdict = arrays[3];
    for (size_t i = 0; i < n; i++) a_s[i] = b_s[i] = initial_time_s(i);
    length[0] = (int64_t)n;
    verdict[0] = initial_answer;
}

static void run_decide(size_t n, void **arrays)
{
    const int64_t *length = arrays[2];
    int64_t *verdict = arrays[3];
    (void)n;
    verdict[0] = decide((size_t)length[0], arrays[0], arrays[1]);
}

const struct numalab_phase numalab_phases[] = {
    {"set_clock", set_clock}, {"noise", run_noise},   {"noise_live", run_noise_live},
    {"set_times", set_times}, {"decide", run_decide}, {NULL, NULL},
};
