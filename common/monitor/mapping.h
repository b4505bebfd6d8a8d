/* What memory a worker's arrays are, from outside: the kernel's code could put other memory in
 * the place of theirs, such as the same few pages again and again, which fit a cache. */
#ifndef NUMALAB_MONITOR_MAPPING_H
#define NUMALAB_MONITOR_MAPPING_H

#include "results.h"

/* Notes in results an array that is not memory of its own. Where the kit has made it, it is private
 * memory, of no file, as the kit made it; where the kernel has, every page is another: two places
 * in arrays never are the same of a file. Private memory of no file is never in two places.
 * Returns 0, or -1 with worker->outcome set. */
int numalab_mapping_check(struct numalab_worker *worker, struct numalab_results *results);

/* Fails the worker where it has a file's bytes, or memory that it shares, at two addresses, by one
 * of which it may write them: what is told of by address misses that two threads touch the same.
 * Returns 0, or -1 with worker->outcome set. */
int numalab_mapping_check_aliases(struct numalab_worker *worker);

/* Runs a phase and looks so while it runs, every few milliseconds, and when it is over. */
int numalab_mapping_run(struct numalab_worker *worker, const char *phase);

#endif
