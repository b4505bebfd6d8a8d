#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { USUAL_HUGE_PAGE_BYTES = 2 << 20 };

size_t probe_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

size_t probe_huge_page_bytes(void)
{
    size_t bytes = 0;
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "re");
    if (file) {
        if (fscanf(file, "%zu", &bytes) != 1) bytes = 0;
        fclose(file);
    }
    return bytes ? bytes : USUAL_HUGE_PAGE_BYTES;
}

int probe_memory_map(struct probe_memory *memory, size_t bytes, bool is_huge)
{
    const size_t unit = probe_huge_page_bytes();
    const size_t mapped_bytes = (bytes + unit - 1) / unit * unit;
    if (prctl(PR_SET_THP_DISABLE, !is_huge, 0, 0, 0)) return -errno;
    char *raw =
        mmap(NULL, mapped_bytes + unit, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return -errno;
    const size_t before = (unit - (uintptr_t)raw % unit) % unit;
    if (before) munmap(raw, before);
    munmap(raw + before + mapped_bytes, unit - before);
    *memory = (struct probe_memory){raw + before, bytes, mapped_bytes};
    if (is_huge && madvise(memory->start, mapped_bytes, MADV_HUGEPAGE)) {
        const int error = -errno;
        probe_memory_unmap(memory);
        return error;
    }
    return 0;
}

void probe_memory_unmap(struct probe_memory *memory)
{
    if (memory->start) munmap(memory->start, memory->mapped_bytes);
    *memory = (struct probe_memory){0};
}

int probe_memory_on_huge_pages(const struct probe_memory *memory, size_t *bytes)
{
    const uintptr_t first = (uintptr_t)memory->start, end = first + memory->mapped_bytes;
    FILE *file = fopen("/proc/self/smaps", "re");
    if (!file) return -errno;
    char line[512];
    bool is_inside = false;
    size_t found = 0;
    while (fgets(line, sizeof line, file)) {
        unsigned long from, to;
        size_t kib;
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            is_inside = from < end && to > first;
        else if (is_inside && sscanf(line, "AnonHugePages: %zu kB", &kib) == 1)
            found += kib * 1024;
    }
    fclose(file);
    *bytes = found < memory->bytes ? found : memory->bytes;
    return 0;
}
