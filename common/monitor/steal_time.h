/* What the host of a virtual machine takes from its PUs. */
#ifndef NUMALAB_MONITOR_STEAL_TIME_H
#define NUMALAB_MONITOR_STEAL_TIME_H

#include <hwloc.h>
#include <stddef.h>

/* Seconds so far by PU, in steps of 10 ms; 0 of PUs that are offline. On a machine of its own
 * all are 0, and where the host does not tell. */
struct numalab_steal_times {
    double *pu_s;
    size_t count;
};

/* Reads /proc/stat, or what is in its place. Returns 0 or a negative errno; the caller frees. */
int numalab_steal_times_read(const char *stat, struct numalab_steal_times *steal);
void numalab_steal_times_free(struct numalab_steal_times *steal);

/* Seconds between two looks, of the PU in the set that lost most: a thread sits on one of
 * those that it may run on. */
double numalab_steal_times_max_s(const struct numalab_steal_times *first,
                                 const struct numalab_steal_times *second,
                                 hwloc_const_bitmap_t pus);

#endif
