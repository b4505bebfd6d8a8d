/* Kernels that go through arrays in order, all threads of OpenMP's team. */
#ifndef NUMALAB_PROBE_STREAMS_H
#define NUMALAB_PROBE_STREAMS_H

#include "probe.h"

/* x is written; y and z are read. Doubles, as many each. */
struct probe_arrays {
    double *x, *y, *z;
    size_t count;
};

/* Of the team, as it stands after the kernels. */
struct probe_team {
    int threads, pus[PROBE_MOST_THREADS];
    double local_share; /* of the pages of all arrays: on the NUMA node of the thread that uses
                           them; NaN where the system does not tell */
};

/* Writes all arrays for the first time: each thread what it will use, or the main thread all. */
void probe_streams_touch(const struct probe_arrays *arrays, bool is_serial);

/* Each runs all repetitions, after one for warming up, and looks at the results. 0, or -EBADMSG,
 * which is told on standard error. bytes: with ordinary stores, which fetch a cache line before
 * they write to it; no call of memcpy, which may pass by the caches, takes a loop's place. */
typedef int probe_stream(const struct probe_arrays *arrays, size_t repetitions,
                         struct probe_times *times);
probe_stream probe_copy;  /* x = y */
probe_stream probe_triad; /* x = y + s z */
probe_stream probe_load;  /* the sum of y */
probe_stream probe_store; /* x = s */

/* Where the team's threads are now, and where the pages live that they use. */
void probe_observe_team(const struct probe_arrays *arrays, struct probe_team *team);

#endif
