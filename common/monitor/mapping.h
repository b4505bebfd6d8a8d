/* Checks from outside which memory a worker's arrays are: a kernel could map other memory in their
 * place, such as the same few pages again and again, which fit into a cache. */
#ifndef NUMALAB_MONITOR_MAPPING_H
#define NUMALAB_MONITOR_MAPPING_H

#include "results.h"

/* Notes in results (is_replaced) an array that is not memory of its own. An array that numalab
 * mapped must still be private memory of no file. In arrays that the kernel mapped no two places
 * may be the same bytes of a file; private memory of no file is never in two places. Returns 0, or
 * -1 with worker->outcome set. */
int numalab_mapping_check(struct numalab_worker *worker, struct numalab_results *results);

/* Fails the worker if it has bytes of a file, or shared memory, at two addresses, and may write
 * them by one of these: tools that go by address would miss that two threads touch the same bytes.
 * Returns 0, or -1 with worker->outcome set. */
int numalab_mapping_check_aliases(struct numalab_worker *worker);

/* Runs a phase, and calls numalab_mapping_check_aliases every few milliseconds and at its end.
 * Returns 0, or -1 with worker->outcome set. */
int numalab_mapping_run(struct numalab_worker *worker, const char *phase);

#endif
