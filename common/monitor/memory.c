#include "memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static FILE *open_of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

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

    FILE *file = open_of(pid, "smaps_rollup");
    if (!file) return -errno;
    while (fgets(line, sizeof line, file)) memory->resident_bytes += value_bytes(line, "Rss:");
    fclose(file);

    uint64_t pages = 0;
    file = open_of(pid, "statm");
    if (!file) return -errno;
    if (fscanf(file, "%" SCNu64, &pages) != 1) pages = 0;
    fclose(file);
    memory->address_space_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);

    file = open_of(pid, "stat");
    if (!file) return -errno;
    const char *name_end = fgets(line, sizeof line, file) ? strrchr(line, ')') : NULL;
    fclose(file);
    /* After the name: state, five ids, the terminal's, flags, faults. */
    if (!name_end || sscanf(name_end + 1, " %*c %*d %*d %*d %*d %*d %*u %" SCNu64,
                            &memory->page_faults) != 1)
        return -EPROTO;
    return 0;
}

int numalab_memory_huge_bytes(pid_t pid, uint64_t address, uint64_t bytes, uint64_t *huge_bytes)
{
    static const char *const keys[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"};
    char line[1024];
    uint64_t first, end;
    int overlaps = 0;

    FILE *file = open_of(pid, "smaps");
    if (!file) return -errno;
    *huge_bytes = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &first, &end) == 2)
            overlaps = first < address + bytes && end > address;
        else if (overlaps)
            for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
                *huge_bytes += value_bytes(line, keys[i]);
    }
    fclose(file);
    if (*huge_bytes > bytes) *huge_bytes = bytes;
    return 0;
}
