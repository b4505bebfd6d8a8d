/* Reads a process's memory use from outside. */
#ifndef NUMALAB_MONITOR_MEMORY_H
#define NUMALAB_MONITOR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* PR_THP_DISABLE_EXCEPT_ADVISED of Linux 6.18, a flag of PR_SET_THP_DISABLE: the process gets huge
 * pages where it asks for them, as in the mode madvise, and nowhere else. */
enum { NUMALAB_THP_EXCEPT_ADVISED = 1 << 1 };

/* Returns whether Linux has that flag. */
bool numalab_memory_has_except_advised(void);

/* Returns the bytes of a huge page (hpage_pmd_size); 2 MiB where Linux does not report them. */
uint64_t numalab_memory_huge_page_bytes(void);

struct numalab_memory {
    uint64_t resident_bytes;      /* with hugetlbfs, and what memfd_accounting.h counts */
    uint64_t address_space_bytes; /* mapped, touched or not */
    uint64_t page_faults;         /* so far, of all threads, without those that read a disk */
};

/* Fills memory from smaps_rollup, which is exact where counters are not, statm and stat. Returns 0
 * or a negative errno; -ESRCH if the process has ended. */
int numalab_memory_read(pid_t pid, struct numalab_memory *memory);

/* Fills bytes with those of the process's page tables of the lowest level (VmPTE of status).
 * Returns 0 or a negative errno; -ESRCH if it has ended. */
int numalab_memory_page_tables(pid_t pid, uint64_t *bytes);

/* The bytes of a stretch of memory that are ... */
struct numalab_huge_pages {
    uint64_t bytes;         /* ... on huge pages, each mapped as a whole */
    uint64_t advised_bytes; /* ... in mappings that asked for huge pages (MADV_HUGEPAGE) */
};

/* Counts the bytes from address on that are on huge pages, page by page (PAGEMAP_SCAN, since Linux
 * 6.7). An older Linux reports in smaps how much of each mapping is on huge pages: then the least
 * that the stretch can have of that counts, so that neighbours in one mapping never do. Returns 0
 * or a negative errno. */
int numalab_memory_huge_pages(pid_t pid, uint64_t address, uint64_t bytes,
                              struct numalab_huge_pages *counts);

#endif
