/* The node as hwloc sees it, and what of it a run needs. */
#ifndef NUMALAB_MONITOR_NODE_H
#define NUMALAB_MONITOR_NODE_H

#include <hwloc.h>
#include <stddef.h>
#include <stdint.h>

#include "numa_map.h"

struct numalab_node {
    hwloc_topology_t topology; /* only what this process may use */
    size_t core_count;
    size_t numa_node_count;          /* of those with memory */
    struct numalab_numa_map map;     /* what Linux says of them; empty where it says nothing */
    uint64_t line_bytes;             /* of a cache line */
    uint64_t last_level_cache_bytes; /* of all of them together */
    uint64_t memory_bytes;           /* installed, or the cgroup's limit */
};

/* Returns 0 or a negative errno. */
int numalab_node_open(struct numalab_node *node);

/* The same from a recorded tree: root holds a copy of /sys and /proc, xml is an export of hwloc,
 * and either may be NULL. What is recorded tells nothing of this process. */
int numalab_node_open_recorded(struct numalab_node *node, const char *root, const char *xml);
void numalab_node_close(struct numalab_node *node);

/* NUMA node (Linux's number) that every PU of the set belongs to, or -1 when they sit on several or
 * one belongs to none. As Linux says; where it says nothing, the smallest of hwloc's. */
int numalab_node_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);

/* The same for package (-1 when several) and core (hwloc's logical number). */
int numalab_package_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);
int numalab_core_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);

/* The L3 that they share, by hwloc's number; -1 where there is none. */
int numalab_l3_of_pus(const struct numalab_node *node, hwloc_const_bitmap_t pus);

/* Bytes that the control group of this process may use; UINT64_MAX where nothing limits it. */
uint64_t numalab_cgroup_memory_limit(void);

#endif
