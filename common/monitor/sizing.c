#include "sizing.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "random.h"
#include "traced_pages.h"

enum { MIN_PAGES_PER_PLACE = 40, QUICK_TRACED_PAGES = 2048 };
static const uint64_t quick_bytes = (uint64_t)96 << 20;

int numalab_size_parse(const char *name, enum numalab_size *size)
{
    static const char *const names[] = {"quick", "default", "published"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(name, names[i]) == 0) {
            *size = (enum numalab_size)i;
            return 0;
        }
    return -EINVAL;
}

/* The smallest n for which each of thread_count equal shares of every array is
 * whole pages. Element sizes are powers of two. */
static size_t share_unit(const struct numalab_driver *driver, size_t thread_count)
{
    size_t smallest = NUMALAB_MAX_ELEMENT_BYTES;
    for (size_t i = 0; i < driver->array_count; i++)
        if (driver->arrays[i].element_bytes < smallest) smallest = driver->arrays[i].element_bytes;
    return (size_t)sysconf(_SC_PAGESIZE) / smallest * thread_count;
}

uint64_t numalab_sizing_bytes(const struct numalab_driver *driver, size_t n)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < driver->array_count; i++)
        bytes += (uint64_t)(driver->count ? driver->count(n, i, 0, 1) : n) *
                 driver->arrays[i].element_bytes;
    return bytes;
}

size_t numalab_timed_n(const struct numalab_driver *driver, const struct numalab_node *node,
                       enum numalab_size size, size_t thread_count)
{
    size_t n = driver->timed_n[size];
    if (size == NUMALAB_PUBLISHED && n) return n;
    /* Powers of two stay powers of two. */
    while (n && numalab_sizing_bytes(driver, n) > node->memory_bytes / 8) n /= 2;
    if (n) return n;

    const size_t unit = share_unit(driver, thread_count);
    uint64_t bytes = 4 * node->last_level_cache_bytes;
    if (bytes < quick_bytes) bytes = quick_bytes;
    if (bytes > node->memory_bytes / 8) bytes = node->memory_bytes / 8;
    if (size == NUMALAB_QUICK && bytes > quick_bytes) bytes = quick_bytes;

    size_t units = (size_t)(bytes / numalab_sizing_bytes(driver, unit));
    return unit * (units < MIN_PAGES_PER_PLACE ? MIN_PAGES_PER_PLACE : units);
}

size_t numalab_traced_pages(enum numalab_size size)
{
    return size == NUMALAB_QUICK ? QUICK_TRACED_PAGES : NUMALAB_MOST_TRACED_PAGES;
}

size_t numalab_traced_n(const struct numalab_driver *driver, const struct numalab_node *node,
                        const struct numalab_sampling *sampling)
{
    const size_t thread_count = sampling->team;
    if (driver->few_pages_n && sampling->traced_pages < QUICK_TRACED_PAGES &&
        node->numa_node_count > 1)
        return driver->few_pages_n;
    if (driver->evidence_n) return driver->evidence_n;
    const size_t unit = share_unit(driver, thread_count);
    const uint64_t unit_bytes = numalab_sizing_bytes(driver, unit);
    const size_t pages_per_unit = (size_t)(unit_bytes / (uint64_t)sysconf(_SC_PAGESIZE));

    /* A page at the border of two shares must not weigh much; between threads of one
     * NUMA node of several there is no border. */
    size_t least = MIN_PAGES_PER_PLACE;
    if (node->numa_node_count > 1 && node->numa_node_count < thread_count)
        least = (MIN_PAGES_PER_PLACE * node->numa_node_count + thread_count - 1) / thread_count;
    if (least > NUMALAB_MOST_TRACED_PAGES / pages_per_unit)
        least = NUMALAB_MOST_TRACED_PAGES / pages_per_unit;
    const size_t promised = (NUMALAB_LEAST_TRACED_N + unit - 1) / unit;
    if (least < promised) least = promised;

    struct numalab_random random = {.seed = sampling->seed};
    size_t units = least + (size_t)(numalab_random_next(&random) % (least / 8 + 1));
    if (units > node->memory_bytes / 4 / unit_bytes)
        units = (size_t)(node->memory_bytes / 4 / unit_bytes);
    return unit * (units < 1 ? 1 : units);
}

size_t numalab_sixteenth_n(const struct numalab_driver *driver, size_t n, size_t thread_count)
{
    const size_t unit = share_unit(driver, thread_count), units = n / 16 / unit;
    return unit * (units < 1 ? 1 : units);
}
