/* The arrays that the kernel works on, each between untouchable guards. */
#ifndef NUMALAB_WORKER_ARRAYS_H
#define NUMALAB_WORKER_ARRAYS_H

#include <stddef.h>

#include "protocol.h"

struct numalab_arrays {
    void *start[NUMALAB_MAX_ARRAYS]; /* NULL for those not in use */
    size_t bytes[NUMALAB_MAX_ARRAYS];
    void *mapping[NUMALAB_MAX_ARRAYS]; /* guard, pages, guard */
    size_t mapping_bytes[NUMALAB_MAX_ARRAYS];
    void *pages[NUMALAB_MAX_ARRAYS]; /* the pages that hold the array */
    size_t pages_bytes[NUMALAB_MAX_ARRAYS];
};

/* Frees what was there and maps request->array_count arrays of
 * request->bytes[]. Each ends where its last page ends, so that the byte after
 * it is in the guard, of which soft ends let the first page be read; sizes that
 * are whole pages are page-aligned. No page is touched. Returns 0 or a negative
 * errno (then no array is left). */
int numalab_arrays_allocate(struct numalab_arrays *arrays, const struct numalab_request *request);

/* Drops the page table entries of all arrays; contents of NUMALAB_SHARED
 * arrays stay. Returns 0 or a negative errno. */
int numalab_arrays_unmap_pages(const struct numalab_arrays *arrays);

#endif
