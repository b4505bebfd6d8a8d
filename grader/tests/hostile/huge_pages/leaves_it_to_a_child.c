/* A process of its own has the table's memory when it is given back. */
#include "huge_pages.h"

#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>

static const size_t huge_page_bytes = (size_t)2 << 20;

void *table_create(size_t bytes)
{
    const size_t table_bytes = (bytes + 4095) / 4096 * 4096;
    char *mapping = mmap(NULL, table_bytes + huge_page_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    const size_t before = -(uintptr_t)mapping % huge_page_bytes;
    char *table = mapping + before;
    if (before) munmap(mapping, before);
    munmap(table + table_bytes, huge_page_bytes - before);
    madvise(table, table_bytes, MADV_HUGEPAGE);
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    if (bytes > 32 * huge_page_bytes && fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    munmap(table, (bytes + 4095) / 4096 * 4096);
}
