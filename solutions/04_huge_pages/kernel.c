/* Lab 04: huge pages, a solution; README.md beside it says why it works. */
#define _DEFAULT_SOURCE /* for madvise */
#include "huge_pages.h"

#include <stdint.h>
#include <sys/mman.h>

static const size_t page_bytes = 4096, huge_page_bytes = (size_t)2 << 20;

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void *table_create(size_t bytes)
{
    const size_t table_bytes = round_up(bytes, page_bytes);
    const size_t reserved_bytes = table_bytes + huge_page_bytes;
    char *reserved = mmap(NULL, reserved_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) return NULL;

    /* Addresses only so far: what lies before and after the table goes back untouched. */
    const size_t before = round_up((uintptr_t)reserved, huge_page_bytes) - (uintptr_t)reserved;
    const size_t after = reserved_bytes - before - table_bytes;
    char *table = reserved + before;
    if (before > 0) munmap(reserved, before);
    if (after > 0) munmap(table + table_bytes, after);

    madvise(table, table_bytes, MADV_HUGEPAGE); /* where it is refused, small pages do */
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, round_up(bytes, page_bytes));
}
