/* Re-arms pages of a worker's arrays: makes them fault again while a phase runs.
 *
 * A page whose fault was answered is open, and its further uses are not observed. So at moments
 * that the worker can't foresee all open pages are closed: the worker is stopped, their content is
 * copied to the monitor, and the memory file that holds the arrays loses them. The next access of
 * each is a page fault again, which is answered with the copy. That shows which threads use a page
 * at some moment of the phase, not only the first; and no other mapping of the file reaches a
 * closed page.
 *
 * The worker hands its file over, and is not trusted: where pages that should be gone are still
 * mapped, its outcome is NUMALAB_BAD_PROTOCOL. */
#ifndef NUMALAB_MONITOR_PAGE_REARM_H
#define NUMALAB_MONITOR_PAGE_REARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "monitor/processes/worker_process.h"

struct numalab_page_rearm;

/* A traced page of the arrays. */
struct numalab_rearm_page {
    uint64_t address;     /* in the worker */
    uint64_t file_offset; /* in its memory file, in bytes */
};

/* worker: with NUMALAB_SHARED arrays. list: count pages, copied; other functions name a page by its
 * index in it. team: threads of the worker. Returns NULL with worker->outcome set; the caller
 * frees. */
struct numalab_page_rearm *numalab_page_rearm_create(struct numalab_worker *worker,
                                                     const struct numalab_rearm_page *list,
                                                     size_t count, size_t team);
void numalab_page_rearm_free(struct numalab_page_rearm *rearm); /* NULL: does nothing */

/* From now on closes pages by the clock only, every interval_s seconds on average. */
void numalab_page_rearm_set_interval(struct numalab_page_rearm *rearm, double interval_s);

/* Closes all pages; call it before a phase. Returns 0, or -1 with the worker's outcome set. */
int numalab_page_rearm_begin(struct numalab_page_rearm *rearm, struct numalab_worker *worker);

/* Writes the copies back into the file; call it after a phase. Returns 0 or a negative errno. */
int numalab_page_rearm_end(struct numalab_page_rearm *rearm);

/* Notes that the answer to a fault has opened a page. */
void numalab_page_rearm_note(struct numalab_page_rearm *rearm, size_t page);

/* Returns whether it is time to close what is open. has_faults: threads wait for answers.
 *
 * Half of the moments follow right after an answer, or some microseconds later, and find a thread
 * in the page that it opened; half come with the next fault, and find it in pages that it opened
 * before. If no thread faults they come by the clock. */
bool numalab_page_rearm_is_due(const struct numalab_page_rearm *rearm, bool has_faults);

/* Closes all open pages. Returns 0, or -1 with the worker's outcome set. */
int numalab_page_rearm_run(struct numalab_page_rearm *rearm, struct numalab_worker *worker);

/* Returns the milliseconds in which no closing can be due unless a thread faults; -1: no limit. */
int numalab_page_rearm_wait_ms(const struct numalab_page_rearm *rearm);

/* Returns the *count open pages, in the order in which they were opened; the array is not the
 * caller's, and valid until pages are opened or closed. */
const size_t *numalab_page_rearm_list_open(const struct numalab_page_rearm *rearm, size_t *count);

/* Returns the content of a page when it was closed last, as many bytes as a page has; not the
 * caller's. */
const void *numalab_page_rearm_content(const struct numalab_page_rearm *rearm, size_t page);

/* Returns the number of moments at which pages were closed while a phase ran, in all phases. */
size_t numalab_page_rearm_count(const struct numalab_page_rearm *rearm);

#endif
