/* In which order two threads of the kit's own race come, in programs that look for data races
 * (cmake/AddLab.cmake, race workers). Built without ThreadSanitizer, so that it orders nothing by
 * what that sees.
 *
 * Left to themselves they would be missed now and then: of two accesses at the very same time, and
 * where one thread wakes up when the other one has come to the region's end. Archer keeps all
 * barriers of a team in a few places, and takes that for an order. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

void numalab_come(void);
void numalab_await(unsigned count);

static atomic_uint came;

/* For somebody who never comes nobody waits longer. */
static const double most_s = 5.0;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void numalab_come(void)
{
    atomic_fetch_add(&came, 1);
}

/* Until numalab_come has been called so many times in this process. */
void numalab_await(unsigned count)
{
    const double until_s = now_s() + most_s;
    while (atomic_load(&came) < count && now_s() < until_s) sched_yield();
}
