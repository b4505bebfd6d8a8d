/* The touch map: which thread first wrote each page, and which threads use it.
 *
 * The arrays lie in shared memory whose pages are missing. The worker opens a
 * userfaultfd and hands it over; every page fault then comes to the monitor,
 * with the thread and the kind of access, and the faulting thread waits for the
 * monitor's answer. So the map is made outside the student's process. A read
 * maps a page of zeros that is still write-protected: only a write is a touch.
 *
 * The monitor also decides who goes first. Where two threads work on one page,
 * plain order of arrival would show only the first of them; holding back one
 * thread's faults for as long as another is busy brings both orders to light
 * that a scheduler could produce, in two runs.
 *
 * Each access is kept with where it came from: the PU on which the thread stood in its fault, and
 * what it was bound to then. A runtime may bind a thread anew for each parallel region, and a
 * kernel, too; a thread that was bound to no NUMA node was somewhere by chance.
 *
 * Who comes first need not be who works: a thread can touch pages that another one works on. So
 * pages are closed again while the phase runs (page_rearm.h), and who uses them then is told beside
 * the set of their users.
 *
 * Where the system refuses userfaultfd, the worker traps its own faults (fault_trap.h); that
 * map is made inside the student's process and says so: what it says of threads and PUs a kernel
 * can forge. A worker that is refused what the monitor
 * is not has seen to that itself: it is not believed. */
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

/* For a worker whose arrays are NUMALAB_SHARED and untouched, those of a page or more, which
 * have to be whole pages; of each the pages that the sampling says. node: for places of threads,
 * which are not kept where it is NULL. Uses in_process where userfaultfd is refused to this
 * process, too, or when asked to: then the worker traps all of its pages, and those are taken from
 * its log. Returns NULL with worker->outcome set: where only the worker is refused,
 * NUMALAB_UNTRACEABLE. */
struct numalab_touch_map *
numalab_touch_map_open(struct numalab_worker *worker, const struct numalab_node *node,
                       const struct numalab_driver *driver, const struct numalab_sampling *sampling,
                       enum numalab_touch_order order, enum numalab_touch_method method);
void numalab_touch_map_close(struct numalab_touch_map *map);

/* Runs the phase that initialises, recording first writes. Returns 0, or -1 with
 * worker->outcome set. */
int numalab_touch_map_run_initialize(struct numalab_touch_map *map, struct numalab_worker *worker,
                                     const char *phase);

/* Runs the phase that computes, recording who uses each page; repeated runs are
 * united. Returns as above. */
int numalab_touch_map_run_compute(struct numalab_touch_map *map, struct numalab_worker *worker,
                                  const char *phase);

/* Has open pages closed by the clock only from now on, every interval_s seconds on average, and
 * threads' activity sampled then. sampler: the caller's, as long as the map is there. */
void numalab_touch_map_sample_activity(struct numalab_touch_map *map,
                                       struct numalab_activity_sampler *sampler, double interval_s);

/* Returns at how many moments pages were closed in all. */
size_t numalab_touch_map_moments(const struct numalab_touch_map *map);

/* What a record says: method, order, how often pages were closed while a phase ran, and for each
 * array which pages are traced, of those run-length codes of the first writer's number (-1: nobody)
 * and of the set of users, and who used again what was closed. threads: the worker's, read while it
 * still had them all. */
json_t *numalab_touch_map_describe(struct numalab_touch_map *map,
                                   const struct numalab_threads *threads);

/* Whether this system lets an ordinary process use what the map needs: returns
 * 0, or a negative errno from the step that was refused. */
int numalab_touch_map_probe(void);

#endif
