/* Lab 04, a variant, a solution: header and table are one piece. */
#include "huge_pages.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* What one huge page of this system holds: 2 MiB on x86-64, other sizes elsewhere. */
static size_t huge_page_size(void)
{
    size_t bytes = 0;
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "r");
    if (file) {
        if (fscanf(file, "%zu", &bytes) != 1) bytes = 0;
        fclose(file);
    }
    return bytes > 0 ? bytes : (size_t)2 << 20;
}

static size_t round_up(size_t value, size_t unit)
{
    return (value + unit - 1) / unit * unit;
}

enum { HEADER_BYTES = @pages@ * 4096 + @lines@ * 64 };

/* Of header and table. */
static size_t whole_pages(size_t bytes)
{
    return round_up(HEADER_BYTES + bytes, (size_t)sysconf(_SC_PAGESIZE));
}

void *table_create(size_t bytes)
{
    const size_t huge_page_bytes = huge_page_size();
    const size_t piece_bytes = whole_pages(bytes);
    const size_t reserved_bytes = piece_bytes + huge_page_bytes;
    char *reserved = mmap(NULL, reserved_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (reserved == MAP_FAILED) return NULL;

    /* Addresses only so far: what lies before and after the piece goes back untouched. */
    const size_t before = round_up((uintptr_t)reserved, huge_page_bytes) - (uintptr_t)reserved;
    const size_t after = reserved_bytes - before - piece_bytes;
    char *piece = reserved + before;
    if (before > 0) munmap(reserved, before);
    if (after > 0) munmap(piece + piece_bytes, after);

    madvise(piece, piece_bytes, MADV_HUGEPAGE); /* where it is refused, small pages do */
    return piece + HEADER_BYTES;
}

void table_destroy(void *table, size_t bytes)
{
    munmap((char *)table - HEADER_BYTES, whole_pages(bytes));
}
