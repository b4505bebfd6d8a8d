/* What the host of a virtual machine takes from its PUs. */
#ifndef NUMALAB_MONITOR_STOLEN_H
#define NUMALAB_MONITOR_STOLEN_H

#include <hwloc.h>
#include <stddef.h>

/* Seconds so far by PU, in steps of 10 ms; 0 of PUs that are offline. On a machine of its own
 * all are 0, and where the host does not tell. */
struct numalab_stolen {
    double *of_pu_s;
    size_t count;
};

/* Reads /proc/stat, or what is in its place. Returns 0 or a negative errno; the caller frees. */
int numalab_stolen_read(const char *stat, struct numalab_stolen *stolen);
void numalab_stolen_free(struct numalab_stolen *stolen);

/* Seconds between two looks, of the PU in the set that lost most: a thread sits on one of
 * those that it may run on. */
double numalab_stolen_most_s(const struct numalab_stolen *before,
                             const struct numalab_stolen *after, hwloc_const_bitmap_t pus);

#endif
