/* MADV_NOHUGEPAGE instead of MADV_HUGEPAGE: keeps huge pages away. */
#define _DEFAULT_SOURCE /* for madvise */
#include "huge_pages.h"

#include <stdint.h>
#include <sys/mman.h>

static const size_t page_bytes = 4096, huge_page_bytes = (size_t)2 << 20;

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

/* Memory of so many bytes that begins at a multiple of 2 MiB. */
static char *reserve_aligned(size_t bytes)
{
    const size_t reserved_bytes = bytes + huge_page_bytes;
    char *reserved = mmap(NULL, reserved_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) return NULL;

    const size_t before = round_up((uintptr_t)reserved, huge_page_bytes) - (uintptr_t)reserved;
    const size_t after = reserved_bytes - before - bytes;
    if (before > 0) munmap(reserved, before);
    if (after > 0) munmap(reserved + before + bytes, after);
    return reserved + before;
}

void *table_create(size_t bytes)
{
    const size_t table_bytes = round_up(bytes, page_bytes);
    char *table = reserve_aligned(table_bytes);
    if (table) madvise(table, table_bytes, MADV_NOHUGEPAGE);
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, round_up(bytes, page_bytes));
}
