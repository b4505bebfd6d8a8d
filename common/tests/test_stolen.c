#define _GNU_SOURCE
#include "monitor/steal_time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "expect.h"

static int failures;

/* As from a file with these lines. */
static int read_lines(const char *lines, struct numalab_steal_times *steal)
{
    char path[] = "/tmp/numalab_stat_XXXXXX";
    const int descriptor = mkstemp(path);
    EXPECT(descriptor >= 0 && dprintf(descriptor, "%s", lines) > 0);
    const int error = numalab_steal_times_read(path, steal);
    close(descriptor);
    unlink(path);
    return error;
}

static bool is_about(double actual, double expected)
{
    return actual > expected - 1e-9 && actual < expected + 1e-9;
}

int main(void)
{
    const double tick_s = 1.0 / (double)sysconf(_SC_CLK_TCK);
    struct numalab_steal_times before, after, other;

    /* The first line is of all together; PU 1 is offline; an old kernel tells less. */
    EXPECT(read_lines("cpu  9 8 7 6 5 4 3 200 1 0\n"
                      "cpu0 9 8 7 6 5 4 3 70 1 0\n"
                      "cpu2 9 8 7 6 5 4 3 130 1 0\n"
                      "cpu3 9 8 7 6\n"
                      "intr 1000 1 2 3\n"
                      "cpu9 9 8 7 6 5 4 3 9 1 0\n",
                      &before) == 0);
    EXPECT(before.count == 4);
    EXPECT(is_about(before.pu_s[0], 70 * tick_s) && is_about(before.pu_s[1], 0));
    EXPECT(is_about(before.pu_s[2], 130 * tick_s) && is_about(before.pu_s[3], 0));

    EXPECT(read_lines("cpu0 9 8 7 6 5 4 3 75 1 0\ncpu2 9 8 7 6 5 4 3 150 1 0\n", &after) == 0);
    hwloc_bitmap_t pus = hwloc_bitmap_alloc();
    EXPECT(is_about(numalab_steal_times_max_s(&before, &after, pus), 0));
    hwloc_bitmap_set(pus, 0);
    EXPECT(is_about(numalab_steal_times_max_s(&before, &after, pus), 5 * tick_s));
    hwloc_bitmap_set(pus, 2);
    hwloc_bitmap_set(pus, 77);
    EXPECT(is_about(numalab_steal_times_max_s(&before, &after, pus), 20 * tick_s));
    hwloc_bitmap_fill(pus); /* a thread that may run anywhere */
    EXPECT(is_about(numalab_steal_times_max_s(&before, &after, pus), 20 * tick_s));
    /* Counters that were set back have taken nothing. */
    EXPECT(is_about(numalab_steal_times_max_s(&after, &before, pus), 0));

    EXPECT(numalab_steal_times_read("/proc/no/such/file", &other) == -ENOENT);
    EXPECT(other.count == 0 && is_about(numalab_steal_times_max_s(&other, &after, pus), 0));
    EXPECT(numalab_steal_times_read("/proc/stat", &other) == 0);
    EXPECT(other.count >= (size_t)sysconf(_SC_NPROCESSORS_ONLN));

    hwloc_bitmap_free(pus);
    numalab_steal_times_free(&before);
    numalab_steal_times_free(&after);
    numalab_steal_times_free(&other);
    return failures > 0;
}
