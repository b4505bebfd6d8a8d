/* Steal time: what a hypervisor takes from the PUs of a virtual machine. */
#ifndef NUMALAB_MONITOR_STEAL_TIME_H
#define NUMALAB_MONITOR_STEAL_TIME_H

#include <hwloc.h>
#include <stddef.h>

/* Seconds so far by PU, in ticks of 10 ms on most systems. All are 0 on a machine that is not
 * virtual, and under a hypervisor that does not report them; so are those of PUs that are offline.
 */
struct numalab_steal_times {
    double *pu_s;
    size_t count; /* length of pu_s */
};

/* Reads the file `stat`, /proc/stat or one of its form. Returns 0 or a negative errno; the caller
 * frees the times. */
int numalab_steal_times_read(const char *stat, struct numalab_steal_times *steal);
void numalab_steal_times_free(struct numalab_steal_times *steal);

/* Returns the seconds between two readings of the PU in the set that lost most, since a thread may
 * have been on any of those that it may run on. */
double numalab_steal_times_max_s(const struct numalab_steal_times *first,
                                 const struct numalab_steal_times *second,
                                 hwloc_const_bitmap_t pus);

#endif
