/* Pages of a worker's arrays that are closed, and closed again while a phase runs.
 *
 * A page whose fault was answered is open: whoever else uses it, and however often, is not seen.
 * At moments that the worker can't foresee all open pages are closed: the worker is stopped, what
 * they hold is kept here, and the file that the arrays lie in loses them. The next access of each
 * is a page fault again, which is answered with what was kept. So it is seen who uses a page
 * at some moment of the phase, not only who came first; and what is not in the file can be reached
 * by no other mapping of it either.
 *
 * The worker hands its file over, and is not believed: pages that it still sees when they should be
 * gone end it. */
#ifndef NUMALAB_MONITOR_PAGE_REARM_H
#define NUMALAB_MONITOR_PAGE_REARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/processes/worker_process.h"

struct numalab_page_rearm;

/* Of the arrays, one that is watched. */
struct numalab_rearm_page {
    uint64_t address;     /* in the worker */
    uint64_t file_offset; /* in its file */
};

/* For a worker with NUMALAB_SHARED arrays; pages are named by their number in the list, which is
 * copied. team: threads that the worker was given. Returns NULL with worker->outcome set. */
struct numalab_page_rearm *numalab_page_rearm_create(struct numalab_worker *worker,
                                                     const struct numalab_rearm_page *list,
                                                     size_t count, size_t team);
void numalab_page_rearm_free(struct numalab_page_rearm *rearm); /* NULL: does nothing */

/* From now on moments come by the clock only, so many seconds apart, on average. */
void numalab_page_rearm_set_interval(struct numalab_page_rearm *rearm, double interval_s);

/* Before a phase: closes all pages. Returns 0, or -1 with the worker's outcome set. */
int numalab_page_rearm_begin(struct numalab_page_rearm *rearm, struct numalab_worker *worker);

/* After it: gives the file back what is kept. Returns 0 or a negative errno. */
int numalab_page_rearm_end(struct numalab_page_rearm *rearm);

/* The answer to a fault has opened a page. */
void numalab_page_rearm_note(struct numalab_page_rearm *rearm, size_t page);

/* Whether it is time to close what is open. has_faults: threads wait for answers. Of the moments
 * that follow an answer half come right behind it, or a few microseconds later, and half when the
 * next fault is there: the one meets a thread in what it opened, the other what it opened before.
 * Where no thread faults they come by the clock. */
bool numalab_page_rearm_is_due(const struct numalab_page_rearm *rearm, bool has_faults);

/* Closes all pages that are open. Returns 0, or -1 with the worker's outcome set. */
int numalab_page_rearm_run(struct numalab_page_rearm *rearm, struct numalab_worker *worker);

/* For how many milliseconds it can't be time unless somebody faults; -1: for ever. */
int numalab_page_rearm_wait_ms(const struct numalab_page_rearm *rearm);

/* The open pages, in the order in which they were opened. */
const size_t *numalab_page_rearm_list_open(const struct numalab_page_rearm *rearm, size_t *count);

/* What a page held when it was closed last, a page of bytes. */
const void *numalab_page_rearm_content(const struct numalab_page_rearm *rearm, size_t page);

/* Moments at which pages were closed while a phase ran, in all phases. */
size_t numalab_page_rearm_count(const struct numalab_page_rearm *rearm);

#endif
