/* Problem sizes of runs. */
#ifndef NUMALAB_MONITOR_SIZING_H
#define NUMALAB_MONITOR_SIZING_H

#include <stddef.h>
#include <stdint.h>

#include "node.h"
#include "numalab/driver.h"
#include "sample.h"

enum numalab_size { NUMALAB_QUICK, NUMALAB_DEFAULT, NUMALAB_PUBLISHED };

/* Parses "quick", "default" or "published". Returns 0, or -EINVAL for another name. */
int numalab_size_parse(const char *name, enum numalab_size *size);

/* Returns the bytes of all arrays together in a job of one rank. */
uint64_t numalab_sizing_bytes(const struct numalab_driver *driver, size_t n);

/* Returns the problem size for timing: the driver's, halved until the arrays fill at most an eighth
 * of memory, but for the published size. If the driver has none, the arrays together are four times
 * the last-level caches, 96 MiB or more, with quick no more than that, and at most an eighth of
 * memory; every thread's equal share is whole pages, at least 40 of each array. */
size_t numalab_timed_n(const struct numalab_driver *driver, const struct numalab_node *node,
                       enum numalab_size size, size_t thread_count);

/* Returns the pages of all arrays together that page evidence observes: 16,384; quick 2,048. */
size_t numalab_traced_pages(enum numalab_size size);

/* The fewest elements of an array in page evidence, whatever the run and the team. Labs promise
 * this number to kernels, so that a kernel that uses one thread for short arrays is observed with
 * all. */
#define NUMALAB_LEAST_TRACED_N ((size_t)1 << 21)

/* Returns the problem size for page evidence. It is the driver's few_pages_n, if fewer pages than
 * quick's are traced and there are several NUMA nodes, or its evidence_n. If the driver has none it
 * is NUMALAB_LEAST_TRACED_N and up to an eighth more, by the seed, in equal whole-page shares; more
 * if each thread, or with several NUMA nodes each of these, would get less than 40 pages, up to
 * 16,384 pages of all arrays; and less if the arrays would fill more than a quarter of memory. */
size_t numalab_traced_n(const struct numalab_driver *driver, const struct numalab_node *node,
                        const struct numalab_sampling *sampling);

/* Returns about a sixteenth of such a size, in equal whole-page shares, too. */
size_t numalab_sixteenth_n(const struct numalab_driver *driver, size_t n, size_t thread_count);

#endif
