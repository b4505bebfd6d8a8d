/* Maps memory on small pages or on huge ones. */
#ifndef NUMALAB_PROBE_MEMORY_H
#define NUMALAB_PROBE_MEMORY_H

#include "probe.h"

/* A mapping. Its start and mapped_bytes are multiples of a huge page's size for both kinds of
 * pages, so that both use the same addresses. */
struct probe_memory {
    void *start;
    size_t bytes, mapped_bytes;
};

/* Maps memory, which is not written to yet. If is_huge it asks for huge pages; else the process
 * gets none, of any size, whatever Linux's mode is. Returns 0 or a negative errno. */
int probe_memory_map(struct probe_memory *memory, size_t bytes, bool is_huge);

/* Unmaps it; does nothing for a memory that is all zeros. */
void probe_memory_unmap(struct probe_memory *memory);

/* Sets *bytes to those of it that /proc/self/smaps counts as AnonHugePages. Returns 0 or a negative
 * errno. */
int probe_memory_on_huge_pages(const struct probe_memory *memory, size_t *bytes);

#endif
