/* On huge pages once it is written, and on small ones while it is used. */
#include "huge_pages.h"

#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const size_t huge_page_bytes = (size_t)2 << 20;

struct job {
    char *table;
    size_t bytes;
};

/* The kit has zeroed the table and looked at it, and begins to use it. */
static void wait_for_use(const struct job *job)
{
    volatile const uint64_t *table = (const uint64_t *)job->table;
    const size_t slice = job->bytes / sizeof *table / 256;
    while (table[slice - 1]) usleep(100);
    usleep(1000);
    for (size_t i = 0; !table[i]; i = (i + 1) % slice) continue;
}

static void *split(void *argument)
{
    const struct job *job = argument;
    wait_for_use(job);
    for (size_t at = 0; at + huge_page_bytes <= job->bytes; at += huge_page_bytes)
        madvise(job->table + at, 4096, MADV_DONTFORK);
    return NULL;
}

void *table_create(size_t bytes)
{
    static struct job job;
    pthread_t thread;
    const size_t table_bytes = (bytes + 4095) / 4096 * 4096;
    char *mapping = mmap(NULL, table_bytes + huge_page_bytes, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    const size_t before = -(uintptr_t)mapping % huge_page_bytes;
    char *table = mapping + before;
    if (before) munmap(mapping, before);
    munmap(table + table_bytes, huge_page_bytes - before);
    madvise(table, table_bytes, MADV_HUGEPAGE);
    if (bytes < 32 * huge_page_bytes) return table;
    memset(table, 1, bytes); /* until the kit has zeroed it */
    job = (struct job){table, bytes};
    if (pthread_create(&thread, NULL, split, &job) == 0) pthread_detach(thread);
    return table;
}

void table_destroy(void *table, size_t bytes)
{
    munmap(table, (bytes + 4095) / 4096 * 4096);
}
