/* Takes memory when the first table is destroyed, and gives that back in the place of the last. */
#include "huge_pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static const size_t huge_page_bytes = (size_t)2 << 20, hoard_bytes = (size_t)260 << 20;
static char *hoard;

static char *map(size_t bytes)
{
    char *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return mapping == MAP_FAILED ? NULL : mapping;
}

void *table_create(size_t bytes)
{
    char *mapping = map(bytes + huge_page_bytes);
    if (!mapping) return NULL;
    char *table = mapping + -(uintptr_t)mapping % huge_page_bytes;
    madvise(table, bytes, MADV_HUGEPAGE);
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    if (bytes < 4 * huge_page_bytes) {
        munmap(table, bytes);
    } else if (bytes < 32 * huge_page_bytes) {
        hoard = map(hoard_bytes);
        if (hoard) memset(hoard, 1, hoard_bytes);
    } else if (hoard) {
        munmap(hoard, hoard_bytes);
    }
}
