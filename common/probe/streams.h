/* Kernels that go through arrays in order, with all threads of OpenMP's team. */
#ifndef NUMALAB_PROBE_STREAMS_H
#define NUMALAB_PROBE_STREAMS_H

#include "probe.h"

/* The arrays: x is written, y and z are read. count: doubles of each. */
struct probe_arrays {
    double *x, *y, *z;
    size_t count;
};

/* The team after the kernels. */
struct probe_team {
    int threads, pus[PROBE_MOST_THREADS];
    double local_share; /* share (0 to 1) of the pages of all arrays on the NUMA node of the thread
                           that uses them; NaN if Linux does not report them */
};

/* Writes all arrays for the first time: each thread what it will use, or if is_serial the main
 * thread all. */
void probe_streams_touch(const struct probe_arrays *arrays, bool is_serial);

/* Each of these kernels runs all repetitions, after one that warms up, and checks the results.
 * Returns 0, or -EBADMSG after a message on standard error for wrong ones. times: bytes are those
 * of ordinary stores, which fetch a cache line before they write to it; no call of memcpy, which
 * may bypass the caches, replaces a loop. */
typedef int probe_stream(const struct probe_arrays *arrays, size_t repetitions,
                         struct probe_times *times);
probe_stream probe_copy;  /* x = y */
probe_stream probe_triad; /* x = y + s z */
probe_stream probe_load;  /* the sum of y */
probe_stream probe_store; /* x = s */

/* Fills team with the PUs of its threads now, and the share of local pages. */
void probe_observe_team(const struct probe_arrays *arrays, struct probe_team *team);

#endif
