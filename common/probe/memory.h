/* Memory on small pages or on huge ones. */
#ifndef NUMALAB_PROBE_MEMORY_H
#define NUMALAB_PROBE_MEMORY_H

#include "probe.h"

/* mapped_bytes: a whole number of huge pages, and aligned to them, whatever pages it is to have:
 * so that both kinds have the same addresses to share. */
struct probe_memory {
    void *start;
    size_t bytes, mapped_bytes;
};

/* Maps memory and, if is_huge, asks for huge pages; otherwise the process gets none, of whatever
 * size, in whatever mode the system is. Nothing is written yet. 0 or a negative errno. */
int probe_memory_map(struct probe_memory *memory, size_t bytes, bool is_huge);

void probe_memory_unmap(struct probe_memory *memory);

/* Bytes of it that /proc/self/smaps counts as AnonHugePages. 0 or a negative errno. */
int probe_memory_on_huge_pages(const struct probe_memory *memory, size_t *bytes);

#endif
