/* Which NUMA node each PU belongs to, as Linux says in /sys/devices/system/node. hwloc attaches a
 * NUMA node to the smallest part that holds all of its PUs, so that of nodes that cross packages
 * each seems to have the PUs of all. */
#ifndef NUMALAB_MONITOR_NUMA_MAP_H
#define NUMALAB_MONITOR_NUMA_MAP_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

struct numalab_numa_map {
    int *node_of_pu; /* -1: of none */
    size_t pus;      /* 0: Linux says nothing */
    bool is_hollow;  /* the folder is there and no NUMA node in it, as where it is masked */
    int *numbers;    /* of all NUMA nodes, ascending */
    size_t nodes;
    int *distances; /* the SLIT row by row, in that order; NULL where a part of it is missing */
};

/* The distance between two NUMA nodes by their numbers; -1 where Linux does not say. */
int numalab_numa_map_distance(const struct numalab_numa_map *map, int source, int target);

/* Reads it below a root folder, "" for this system's. Returns 0 or -ENOMEM. */
int numalab_numa_map_read(struct numalab_numa_map *map, const char *root);
void numalab_numa_map_free(struct numalab_numa_map *map);

/* The node that every PU of the set belongs to; -1 where they sit on several, or one on none. */
int numalab_numa_map_of(const struct numalab_numa_map *map, hwloc_const_bitmap_t pus);

/* A folder of links to what is below a root, without /sys/devices/system/node: hwloc ends the
 * process by an assertion where that folder is empty, and takes one NUMA node where it is missing.
 */
struct numalab_shown_tree {
    char *folder; /* NULL: there is none */
};

/* Makes it, and has hwloc read it until it is hidden. Where it can't be made nothing changes. */
void numalab_show_without_numa(struct numalab_shown_tree *tree, const char *root);
void numalab_hide_tree(struct numalab_shown_tree *tree);

#endif
