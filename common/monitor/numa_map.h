/* The NUMA node of each PU, as Linux reports it in /sys/devices/system/node. hwloc attaches a NUMA
 * node to the smallest part that holds all of its PUs, so that each of several NUMA nodes that
 * cross packages seems to have the PUs of all. */
#ifndef NUMALAB_MONITOR_NUMA_MAP_H
#define NUMALAB_MONITOR_NUMA_MAP_H

#include <hwloc.h>
#include <stdbool.h>
#include <stddef.h>

struct numalab_numa_map {
    int *node_of_pu; /* the NUMA node's number by PU; -1: none */
    size_t pus;      /* length of node_of_pu; 0: Linux reports none */
    bool is_hollow;  /* the folder exists without any NUMA node, as where it is masked */
    int *numbers;    /* of all NUMA nodes, ascending */
    size_t nodes;    /* length of numbers */
    int *distances;  /* the SLIT row by row, in that order; NULL if a part of it is missing */
};

/* Returns the distance between two NUMA nodes by their numbers; -1 if Linux does not report it. */
int numalab_numa_map_distance(const struct numalab_numa_map *map, int source, int target);

/* Reads the map below a root folder, "" for this machine's. Returns 0, also if there is nothing to
 * read, or -ENOMEM. The caller frees the map. */
int numalab_numa_map_read(struct numalab_numa_map *map, const char *root);
void numalab_numa_map_free(struct numalab_numa_map *map);

/* Returns the NUMA node that all PUs of the set belong to; -1 if they belong to several, or one
 * belongs to none. */
int numalab_numa_map_of(const struct numalab_numa_map *map, hwloc_const_bitmap_t pus);

/* A folder of links to what is below a root, without /sys/devices/system/node: hwloc ends the
 * process by an assertion if that folder is empty, and takes one NUMA node if it is missing. */
struct numalab_shown_tree {
    char *folder; /* NULL: there is none */
};

/* Makes the folder and has hwloc read it, until numalab_hide_tree removes it. If it can't be made,
 * nothing changes. */
void numalab_show_without_numa(struct numalab_shown_tree *tree, const char *root);
void numalab_hide_tree(struct numalab_shown_tree *tree);

#endif
