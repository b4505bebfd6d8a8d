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

/* Bytes on transparent huge pages in the mappings that overlap bytes from address on, at
 * most bytes. Returns 0 or a negative errno. */
int numalab_memory_huge_bytes(pid_t pid, uint64_t address, uint64_t bytes, uint64_t *huge_bytes);

#endif
