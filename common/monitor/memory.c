#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "proc.h"

/* The value of a line such as "Rss:   12 kB", or 0 where key is another. */
static uint64_t value_bytes(const char *line, const char *key)
{
    uint64_t kib = 0;
    const size_t length = strlen(key);
    if (strncmp(line, key, length) != 0) return 0;
    return sscanf(line + length, "%" SCNu64, &kib) == 1 ? kib << 10 : 0;
}

int numalab_memory_read(pid_t pid, struct numalab_memory *memory)
{
    char line[1024];
    *memory = (struct numalab_memory){0};

    FILE *file = numalab_proc_open(pid, "smaps_rollup");
    if (!file) return -errno;
    while (fgets(line, sizeof line, file)) memory->resident_bytes += value_bytes(line, "Rss:");
    fclose(file);

    uint64_t pages = 0;
    file = numalab_proc_open(pid, "statm");
    if (!file) return -errno;
    if (fscanf(file, "%" SCNu64, &pages) != 1) pages = 0;
    fclose(file);
    memory->address_space_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);

    file = numalab_proc_open(pid, "stat");
    if (!file) return -errno;
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    /* After the name: state, five ids, the terminal's, flags, faults. */
    if (!name_end ||
        sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %" SCNu64, &memory->page_faults) != 1)
        return -EPROTO;
    return 0;
}

int numalab_memory_page_tables(pid_t pid, uint64_t *bytes)
{
    char line[1024];
    *bytes = 0;
    FILE *file = numalab_proc_open(pid, "status");
    if (!file) return -errno;
    while (fgets(line, sizeof line, file)) *bytes += value_bytes(line, "VmPTE:");
    fclose(file);
    return *bytes ? 0 : -EPROTO; /* every process has some, but one that has ended */
}

/* Whether a line is of VmFlags and has the flag `hg`, which MADV_HUGEPAGE sets. */
static int is_advised(const char *line)
{
    return strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg");
}

int numalab_memory_huge_pages(pid_t pid, uint64_t address, uint64_t bytes,
                              struct numalab_huge_pages *found)
{
    static const char *const keys[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"};
    const uint64_t stop = address + bytes;
    char line[1024];
    uint64_t first, end, overlap_bytes = 0;

    FILE *file = numalab_proc_open(pid, "smaps");
    if (!file) return -errno;
    *found = (struct numalab_huge_pages){0};
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &first, &end) == 2) {
            if (first < address) first = address;
            if (end > stop) end = stop;
            overlap_bytes = first < end ? end - first : 0;
        } else if (overlap_bytes) {
            for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
                found->bytes += value_bytes(line, keys[i]);
            if (is_advised(line)) found->advised_bytes += overlap_bytes;
        }
    }
    fclose(file);
    if (found->bytes > bytes) found->bytes = bytes;
    return 0;
}
