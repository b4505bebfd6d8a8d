/* The machine as hwloc reports it, and what a run needs of it. */
#ifndef NUMALAB_MONITOR_NODE_H
#define NUMALAB_MONITOR_NODE_H

#include <hwloc.h>
#include <stddef.h>
#include <stdint.h>

#include "numa_map.h"

struct numalab_node {
    hwloc_topology_t topology; /* only what this process may use */
    size_t core_count;
    size_t numa_node_count;          /* with memory; 1 where none is reported */
    struct numalab_numa_map map;     /* as Linux reports it; empty where it reports none */
    uint64_t line_bytes;             /* of a cache line; 64 where it is not reported */
    uint64_t last_level_cache_bytes; /* of all caches of the last level together; 0: unknown */
    uint64_t memory_bytes;           /* installed, or the cgroup's limit */
};

/* Reads this machine, as far as this process may use it. Returns 0 or a negative errno; after 0 the
 * caller closes it. */
int numalab_node_open(struct numalab_node *node);

/* The same for a recorded machine: root holds a copy of /sys and /proc, xml is an export of hwloc;
 * either may be NULL. The whole machine is read, whatever this process may use. */
int numalab_node_open_recorded(struct numalab_node *node, const char *root, const char *xml);
void numalab_node_close(struct numalab_node *node);

/* Returns the NUMA node (Linux's number) that all PUs of the set belong to; -1 if they belong to
 * several, or one belongs to none. Where Linux reports none, the smallest of hwloc's. */
int numalab_node_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);

/* The same for the package (Linux's number, or hwloc's) and the core (hwloc's logical number). */
int numalab_package_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);
int numalab_core_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);

/* Returns the L3 cache that the PUs share, by hwloc's logical number; -1 if they share none. */
int numalab_l3_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);

/* Returns the bytes that this process's control group may use; UINT64_MAX without a limit. */
uint64_t numalab_cgroup_memory_limit(void);

#endif
