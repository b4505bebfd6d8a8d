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
    int file; /* that holds NUMALAB_SHARED arrays, one behind the other; -1: none, or given away */
};

/* What numalab_arrays_allocate takes the first time. */
#define NUMALAB_NO_ARRAYS ((struct numalab_arrays){.file = -1})

/* Frees what was there and maps request->array_count arrays of
 * request->bytes[]. Each begins at a multiple of alignment, a power of two in
 * bytes, and ends where its last page ends or less than alignment before it, so
 * that the byte after it is in the guard, or as near as can be; soft ends let the
 * first page of that be read; sizes that are whole pages are page-aligned. No page
 * is touched. Returns 0 or a negative errno (then no array is left). */
int numalab_arrays_allocate(struct numalab_arrays *arrays, const struct numalab_request *request,
                            size_t alignment);

#endif
