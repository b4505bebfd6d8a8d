/* A process's memory, seen from outside. */
#ifndef NUMALAB_MONITOR_MEMORY_H
#define NUMALAB_MONITOR_MEMORY_H

#include <stdint.h>
#include <sys/types.h>

struct numalab_memory {
    uint64_t resident_bytes;
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
    uint64_t bytes;         /* on transparent huge pages */
    uint64_t advised_bytes; /* in mappings for which they were asked for (MADV_HUGEPAGE) */
};

/* Looks at the mappings that overlap bytes from address on. Returns 0 or a negative errno. */
int numalab_memory_huge_pages(pid_t pid, uint64_t address, uint64_t bytes,
                              struct numalab_huge_pages *found);

#endif
