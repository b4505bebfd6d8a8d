/* The touch map: which thread first wrote each page, and which threads use it.
 *
 * The arrays are in shared memory whose pages are missing. The worker opens a userfaultfd and hands
 * it over; every page fault then comes to the monitor, with the thread and the kind of access, and
 * the faulting thread waits for the monitor's answer. So the map is made outside the student's
 * process. A read maps a page of zeros that is still write-protected: only a write is a first
 * write.
 *
 * The monitor also decides which thread goes first. If two threads work on one page, the order of
 * arrival would show only the first of them. Holding back one thread's faults as long as another
 * one runs shows both orders that a scheduler could produce, in two runs.
 *
 * Each access is kept with its place: the PU of the thread at the fault, and the PUs that it was
 * bound to. A runtime, or a kernel, may bind a thread again for each parallel region; a thread that
 * was bound to no NUMA node was at its place by chance.
 *
 * The thread that touches a page first need not be the one that works on it. So pages are closed
 * again while the phase runs (page_rearm.h), and the threads that use them then are recorded
 * besides the set of all users.
 *
 * Where Linux refuses userfaultfd, the worker traps its own faults (fault_trap.h). That map is made
 * inside the student's process, where a kernel can forge threads and PUs, and its record says so. A
 * worker that is refused what the monitor is not has caused that itself, and gets no map. */
#ifndef NUMALAB_MONITOR_TOUCH_MAP_H
#define NUMALAB_MONITOR_TOUCH_MAP_H

#include <jansson.h>

#include "threads.h"
#include "monitor/processes/worker_process.h"
#include "monitor/activity_sampler.h"
#include "monitor/sample.h"

enum numalab_touch_order {
    NUMALAB_ORDER_NATURAL,   /* faults are answered as they come */
    NUMALAB_ORDER_ASCENDING, /* threads created early go first */
    NUMALAB_ORDER_DESCENDING /* threads created late go first */
};

enum numalab_touch_method { NUMALAB_TOUCH_USERFAULTFD, NUMALAB_TOUCH_IN_PROCESS };

/* Parse "natural", "ascending" or "descending", and "userfaultfd" or "in_process". Return 0, or
 * -EINVAL for another name. */
int numalab_touch_order_parse(const char *name, enum numalab_touch_order *order);
int numalab_touch_method_parse(const char *name, enum numalab_touch_method *method);

struct numalab_touch_map;

/* Opens the map of a worker whose arrays are NUMALAB_SHARED and untouched; arrays of a page or more
 * are traced and have to be whole pages. sampling: which of their pages. node: to find the places
 * of threads, which are not kept if it is NULL. In-process tracing is used if method says so, or if
 * userfaultfd is refused to the monitor, too: then the worker traps all pages, and the sampled ones
 * are taken from its log. Returns the map, which the caller closes; or NULL with worker->outcome
 * set, which is NUMALAB_UNTRACEABLE if only the worker is refused. */
struct numalab_touch_map *
numalab_touch_map_open(struct numalab_worker *worker, const struct numalab_node *node,
                       const struct numalab_driver *driver, const struct numalab_sampling *sampling,
                       enum numalab_touch_order order, enum numalab_touch_method method);
void numalab_touch_map_close(struct numalab_touch_map *map);

/* Runs the phase that initialises the arrays, and records first writes. Returns 0, or -1 with
 * worker->outcome set. */
int numalab_touch_map_run_initialize(struct numalab_touch_map *map, struct numalab_worker *worker,
                                     const char *phase);

/* Runs the phase that computes, and records which threads use each page; repeated calls add to
 * that. Returns as above. */
int numalab_touch_map_run_compute(struct numalab_touch_map *map, struct numalab_worker *worker,
                                  const char *phase);

/* From now on closes open pages by the clock only, every interval_s seconds on average, and samples
 * the threads' activity then. sampler: the caller's, which must last as long as the map. */
void numalab_touch_map_sample_activity(struct numalab_touch_map *map,
                                       struct numalab_activity_sampler *sampler, double interval_s);

/* Returns the number of moments at which pages were closed. */
size_t numalab_touch_map_moments(const struct numalab_touch_map *map);

/* Describes the map for a record: method, order, the number of moments at which pages were closed,
 * and for each array which pages are traced, their first writers (-1: none) and sets of users as
 * run lengths (record.h), and which threads used again what was closed. threads: the worker's, read
 * while it still had all of them. The caller owns the value. */
json_t *numalab_touch_map_describe(struct numalab_touch_map *map,
                                   const struct numalab_threads *threads);

/* Tries the system calls that the map needs. Returns 0 if an ordinary process may use them, else
 * the negative errno of the step that was refused. */
int numalab_touch_map_probe(void);

#endif
