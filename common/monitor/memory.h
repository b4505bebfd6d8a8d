/* A process's memory, seen from outside. */
#ifndef NUMALAB_MONITOR_MEMORY_H
#define NUMALAB_MONITOR_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* PR_THP_DISABLE_EXCEPT_ADVISED of Linux 6.18, a flag of PR_SET_THP_DISABLE: the process gets huge
 * pages where it asks for them, as in the mode madvise, and nowhere else. */
enum { NUMALAB_THP_EXCEPT_ADVISED = 1 << 1 };

/* Whether the system has that. */
bool numalab_memory_has_except_advised(void);

/* What a huge page of this system holds (hpage_pmd_size); 2 MiB where it does not tell. */
uint64_t numalab_memory_huge_page_bytes(void);

struct numalab_memory {
    uint64_t resident_bytes;      /* and held otherwise: hugetlbfs, and memfd_accounting.h */
    uint64_t address_space_bytes; /* mapped, touched or not */
    uint64_t page_faults;         /* so far, of all threads; none that waited for a disk */
};

/* Reads smaps_rollup, which is exact where counters are not, statm and stat. Returns 0
 * or a negative errno. */
int numalab_memory_read(pid_t pid, struct numalab_memory *memory);

/* Bytes of its page tables of the lowest level (VmPTE of status). Returns 0 or a negative errno. */
int numalab_memory_page_tables(pid_t pid, uint64_t *bytes);

/* Of a stretch of memory; at most all of it. */
struct numalab_huge_pages {
    uint64_t bytes;         /* on huge pages, each mapped as a whole */
    uint64_t advised_bytes; /* in mappings for which they were asked for (MADV_HUGEPAGE) */
};

/* Looks at each page of bytes from address on (PAGEMAP_SCAN, since Linux 6.7). Where the system
 * can't tell of pages, smaps tells how much of each mapping is on huge pages, and as much as may be
 * of that is taken to lie beside the stretch: so neighbours in one mapping never count. Returns 0
 * or a negative errno. */
int numalab_memory_huge_pages(pid_t pid, uint64_t address, uint64_t bytes,
                              struct numalab_huge_pages *counts);

#endif
