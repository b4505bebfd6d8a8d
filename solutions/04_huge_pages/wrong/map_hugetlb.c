/* MAP_HUGETLB takes pages from a pool that the administrator has to fill; it is empty. */
#define _DEFAULT_SOURCE /* for MAP_HUGETLB */
#include "huge_pages.h"

#include <sys/mman.h>

static const size_t huge_page_bytes = (size_t)2 << 20;

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

void *table_create(size_t bytes)
{
    void *table = mmap(NULL, round_up(bytes, huge_page_bytes), PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    return table == MAP_FAILED ? NULL : table;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, round_up(bytes, huge_page_bytes));
}
