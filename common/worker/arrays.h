/* Maps the arrays that the kernel works on, each between guards without access. */
#ifndef NUMALAB_WORKER_ARRAYS_H
#define NUMALAB_WORKER_ARRAYS_H

#include <stddef.h>

#include "protocol.h"

struct numalab_arrays {
    void *start[NUMALAB_MAX_ARRAYS]; /* NULL: not in use */
    size_t bytes[NUMALAB_MAX_ARRAYS];
    void *mapping[NUMALAB_MAX_ARRAYS]; /* guard, pages, guard */
    size_t mapping_bytes[NUMALAB_MAX_ARRAYS];
    void *pages[NUMALAB_MAX_ARRAYS]; /* the pages that hold the array */
    size_t pages_bytes[NUMALAB_MAX_ARRAYS];
    int file; /* holds NUMALAB_SHARED arrays, one behind the other; -1: none, or handed over */
};

/* The arrays before the first call of numalab_arrays_allocate. */
#define NUMALAB_NO_ARRAYS ((struct numalab_arrays){.file = -1})

/* Frees the arrays so far and maps request->array_count arrays of request->bytes[]. Each begins at
 * a multiple of alignment, a power of two in bytes, and ends at the end of its last page or less
 * than alignment before it, so that the byte after it is in the guard or close to it; with soft
 * ends the guard's first page may be read. Sizes of whole pages are page-aligned. No page is
 * touched. Returns 0 or a negative errno; then no array is left. */
int numalab_arrays_allocate(struct numalab_arrays *arrays, const struct numalab_request *request,
                            size_t alignment);

#endif
