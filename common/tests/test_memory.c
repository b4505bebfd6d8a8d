#define _GNU_SOURCE
#include "monitor/memory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "expect.h"

static int failures;

enum { HUGE = 2 << 20, TABLE = 4 * HUGE };

/* Address of bytes of fresh memory that begin at a multiple of 2 MiB; NULL if refused. */
static char *map_aligned(size_t bytes)
{
    char *mapping =
        mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapping == MAP_FAILED) return NULL;
    return mapping + (HUGE - (uintptr_t)mapping % HUGE) % HUGE;
}

int main(void)
{
    struct numalab_memory before, mapped, touched, gone;
    struct numalab_huge_pages huge = {1, 1};
    uint64_t tables_before, tables_after;

    EXPECT(numalab_memory_read(getpid(), &before) == 0);
    char *table = map_aligned(TABLE);
    if (!table) return 77;
    madvise(table, TABLE, MADV_NOHUGEPAGE);
    EXPECT(numalab_memory_read(getpid(), &mapped) == 0);
    EXPECT(mapped.address_space_bytes >= before.address_space_bytes + TABLE);
    EXPECT(mapped.resident_bytes < before.resident_bytes + HUGE);

    /* Small pages: one fault each, 8 bytes of page table each, nothing on huge pages. */
    EXPECT(numalab_memory_page_tables(getpid(), &tables_before) == 0 && tables_before > 0);
    memset(table, 1, TABLE);
    EXPECT(numalab_memory_page_tables(getpid(), &tables_after) == 0);
    const uint64_t entries_bytes = TABLE / (uint64_t)sysconf(_SC_PAGESIZE) * 8;
    EXPECT(tables_after >= tables_before + entries_bytes);
    EXPECT(tables_after <= tables_before + 2 * entries_bytes); /* a sanitizer has some, too */
    EXPECT(numalab_memory_page_tables(-1, &tables_after) < 0);
    EXPECT(numalab_memory_read(getpid(), &touched) == 0);
    EXPECT(touched.resident_bytes >= mapped.resident_bytes + TABLE);
    EXPECT(touched.page_faults >= mapped.page_faults + TABLE / (uint64_t)sysconf(_SC_PAGESIZE));
    EXPECT(numalab_memory_huge_pages(getpid(), (uintptr_t)table, TABLE, &huge) == 0);
    EXPECT(huge.bytes == 0 && huge.advised_bytes == 0);
    munmap(table, TABLE);
    EXPECT(numalab_memory_read(getpid(), &gone) == 0);
    EXPECT(gone.resident_bytes + TABLE <= touched.resident_bytes + HUGE);
    EXPECT(numalab_memory_read(-1, &gone) < 0);

    /* Memory that no mapping shows, once. */
    const int file = memfd_create("held", MFD_CLOEXEC);
    const int again = file < 0 ? -1 : dup(file);
    if (again >= 0 && ftruncate(file, TABLE) == 0 && fallocate(file, 0, 0, TABLE) == 0) {
        struct numalab_memory held;
        EXPECT(numalab_memory_read(getpid(), &held) == 0);
        EXPECT(held.resident_bytes >= gone.resident_bytes + TABLE / 2);
        EXPECT(held.resident_bytes <= touched.resident_bytes + HUGE);
    }
    close(file);
    close(again);

    /* Huge pages, where the system gives any: of this table, and of no other. */
    table = map_aligned(TABLE);
    char *other = map_aligned(TABLE);
    if (!table || !other) return failures ? 1 : 77;
    madvise(other, TABLE, MADV_NOHUGEPAGE);
    madvise(table, TABLE, MADV_HUGEPAGE);
    memset(table, 1, TABLE);
    memset(other, 1, TABLE);
    EXPECT(numalab_memory_huge_pages(getpid(), (uintptr_t)other, TABLE, &huge) == 0);
    EXPECT(huge.bytes == 0 && huge.advised_bytes == 0);
    EXPECT(numalab_memory_huge_pages(getpid(), (uintptr_t)table, TABLE, &huge) == 0);
    EXPECT(huge.advised_bytes == TABLE);
    if (huge.bytes == 0) return failures ? 1 : 77; /* switched off, or memory is in pieces */
    EXPECT(huge.bytes % HUGE == 0 && huge.bytes <= TABLE);
    /* Neighbours in the same mapping don't count: small pages between two huge ones. The kernel may
     * come by and make one of them meanwhile; not each time. */
    char *mixed = NULL;
    for (int tries = 0; tries < 5 && (!mixed || huge.bytes); tries++) {
        mixed = map_aligned(TABLE);
        if (!mixed) return failures ? 1 : 77;
        madvise(mixed + HUGE, HUGE, MADV_NOHUGEPAGE);
        madvise(mixed, HUGE, MADV_HUGEPAGE);
        madvise(mixed + 2 * HUGE, 2 * HUGE, MADV_HUGEPAGE);
        memset(mixed, 1, TABLE);
        madvise(mixed + HUGE, HUGE, MADV_HUGEPAGE); /* one mapping again */
        EXPECT(numalab_memory_huge_pages(getpid(), (uintptr_t)mixed + HUGE, HUGE, &huge) == 0);
    }
    EXPECT(huge.bytes == 0 && huge.advised_bytes == HUGE);
    EXPECT(numalab_memory_huge_pages(getpid(), (uintptr_t)mixed, HUGE, &huge) == 0);
    EXPECT(huge.bytes == HUGE);
    /* Never more than was asked about. */
    EXPECT(numalab_memory_huge_pages(getpid(), (uintptr_t)table, HUGE / 2, &huge) == 0);
    EXPECT(huge.bytes == HUGE / 2 && huge.advised_bytes == HUGE / 2);
    return failures > 0;
}
