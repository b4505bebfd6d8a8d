/* How large a run is. */
#ifndef NUMALAB_MONITOR_SIZING_H
#define NUMALAB_MONITOR_SIZING_H

#include <stddef.h>
#include <stdint.h>

#include "node.h"
#include "numalab/driver.h"
#include "sample.h"

enum numalab_size { NUMALAB_QUICK, NUMALAB_DEFAULT, NUMALAB_PUBLISHED };

/* Returns 0, or -EINVAL for a name that is none of quick, default, published. */
int numalab_size_parse(const char *name, enum numalab_size *size);

/* Bytes of all arrays together, as one rank would hold them. */
uint64_t numalab_sizing_bytes(const struct numalab_driver *driver, size_t n);

/* Problem size for timing: the driver's, halved until the arrays fill at most an eighth
 * of memory, except for the published one. Where the driver names none: by default the
 * arrays together are four times the last level cache, at most an eighth of memory;
 * quick: at most 96 MiB; every thread's equal share is whole pages, at least 40 of each
 * array. */
size_t numalab_timed_n(const struct numalab_driver *driver, const struct numalab_node *node,
                       enum numalab_size size, size_t thread_count);

/* Pages of all arrays together that page evidence looks at: 16,384, quick 2,048. */
size_t numalab_traced_pages(enum numalab_size size);

/* The least elements that an array has in page evidence, whatever the run and the team: labs
 * promise their kernels that many, so that one which takes one thread for short arrays is looked at
 * where it takes all. */
#define NUMALAB_LEAST_TRACED_N ((size_t)1 << 21)

/* Problem size for page evidence: the driver's, of few pages where few are traced and pages count
 * by NUMA node; or NUMALAB_LEAST_TRACED_N and up to an eighth more,
 * by the seed, in equal whole-page shares. Where many threads, or with several NUMA nodes many
 * nodes, share an array it is more: 40 pages for each of them, up to 16,384 of all arrays. Where
 * the arrays would fill more than a quarter of memory it is less. */
size_t numalab_traced_n(const struct numalab_driver *driver, const struct numalab_node *node,
                        const struct numalab_sampling *sampling);

/* About a sixteenth of such a size, in equal whole-page shares, too. */
size_t numalab_sixteenth_n(const struct numalab_driver *driver, size_t n, size_t thread_count);

#endif
