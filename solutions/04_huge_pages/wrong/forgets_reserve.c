/* Reserves twice the addresses, to be able to align, and unmaps the table only. */
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
    char *reserved = mmap(NULL, 2 * table_bytes + huge_page_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) return NULL;
    char *table = (char *)round_up((uintptr_t)reserved, huge_page_bytes);
    madvise(table, table_bytes, MADV_HUGEPAGE);
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, round_up(bytes, page_bytes));
}
