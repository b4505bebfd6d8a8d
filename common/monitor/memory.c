#define _GNU_SOURCE
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "memfd_accounting.h"
#include "proc.h"

/* In a child, since what is set is set for all that this process does. */
bool numalab_memory_has_except_advised(void)
{
    const pid_t child = fork();
    if (child < 0) return false;
    if (child == 0) _exit(prctl(PR_SET_THP_DISABLE, 1, NUMALAB_THP_EXCEPT_ADVISED, 0, 0) != 0);
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

uint64_t numalab_memory_huge_page_bytes(void)
{
    uint64_t bytes = 0;
    FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", "re");
    if (file) {
        if (fscanf(file, "%" SCNu64, &bytes) != 1) bytes = 0;
        fclose(file);
    }
    return bytes ? bytes : (uint64_t)2 << 20;
}

/* The value of a line such as "Rss:   12 kB", or 0 where key is another. */
static uint64_t value_bytes(const char *line, const char *key)
{
    uint64_t kib = 0;
    const size_t length = strlen(key);
    if (strncmp(line, key, length) != 0) return 0;
    return sscanf(line + length, "%" SCNu64, &kib) == 1 ? kib << 10 : 0;
}

/* What of a process's memory is shared with files of memory, or on hugetlbfs, which counts as
 * resident nowhere. */
static void read_status(pid_t pid, uint64_t *shared_bytes, uint64_t *hugetlb_bytes)
{
    char line[1024];
    *shared_bytes = *hugetlb_bytes = 0;
    FILE *file = numalab_proc_open(pid, "status");
    while (file && fgets(line, sizeof line, file)) {
        *shared_bytes += value_bytes(line, "RssShmem:");
        *hugetlb_bytes += value_bytes(line, "HugetlbPages:");
    }
    if (file) fclose(file);
}

int numalab_memory_read(pid_t pid, struct numalab_memory *memory)
{
    char line[1024];
    uint64_t shared_bytes, hugetlb_bytes;
    *memory = (struct numalab_memory){0};

    FILE *file = numalab_proc_open(pid, "smaps_rollup");
    if (!file) return -errno;
    while (fgets(line, sizeof line, file)) memory->resident_bytes += value_bytes(line, "Rss:");
    fclose(file);
    if (!memory->resident_bytes) return -ESRCH; /* every process has some, but one that has ended */
    read_status(pid, &shared_bytes, &hugetlb_bytes);
    memory->resident_bytes += hugetlb_bytes;
    memory->resident_bytes += numalab_memfd_bytes(pid, shared_bytes + hugetlb_bytes);

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
    return *bytes ? 0 : -ESRCH; /* every process has some, but one that has ended */
}

/* Whether a line is of VmFlags and has the flag `hg`, which MADV_HUGEPAGE sets. */
static bool is_advised(const char *line)
{
    return strncmp(line, "VmFlags:", 8) == 0 && strstr(line, " hg");
}

/* ---- huge pages, page by page ---------------------------------------------------- */

/* Of linux/fs.h since Linux 6.7; older headers lack it. */
struct scanned_region {
    uint64_t start, end, categories;
};
struct scan {
    uint64_t size, flags, start, end, walk_end, region, region_count, most_pages;
    uint64_t inverted, all_of, any_of, returned;
};
#define SCAN_PAGES _IOWR('f', 16, struct scan)
enum { SCAN_IS_PRESENT = 1 << 3, SCAN_IS_HUGE = 1 << 6 };

static int open_pagemap(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    return file < 0 ? -errno : file;
}

static uint64_t overlap_bytes(uint64_t first, uint64_t end, uint64_t address, uint64_t stop)
{
    if (first < address) first = address;
    if (end > stop) end = stop;
    return first < end ? end - first : 0;
}

/* Bytes between two addresses that one entry of a page table maps as one huge page: what a TLB has
 * to know. Returns 0, or a negative errno where the system can't tell. */
static int scan_for_huge(int pagemap, uint64_t address, uint64_t stop, uint64_t *bytes)
{
    struct scanned_region region[256];
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t end = (stop + page_bytes - 1) / page_bytes * page_bytes;
    uint64_t start = address / page_bytes * page_bytes;
    *bytes = 0;
    while (start < end) {
        struct scan scan = {.size = sizeof scan,
                            .start = start,
                            .end = end,
                            .region = (uint64_t)(uintptr_t)region,
                            .region_count = sizeof region / sizeof region[0],
                            .all_of = SCAN_IS_PRESENT | SCAN_IS_HUGE,
                            .returned = SCAN_IS_HUGE};
        const int counts = ioctl(pagemap, SCAN_PAGES, &scan);
        if (counts < 0) return -errno;
        for (int i = 0; i < counts; i++)
            *bytes += overlap_bytes(region[i].start, region[i].end, address, stop);
        if (scan.walk_end <= start) return -EPROTO;
        start = scan.walk_end;
    }
    return 0;
}

/* Bytes between two addresses that are in memory. */
static uint64_t present_bytes(int pagemap, uint64_t address, uint64_t stop)
{
    static const uint64_t present = UINT64_C(1) << 63;
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t entry[4096], bytes = 0;
    for (uint64_t page = address / page_bytes; page * page_bytes < stop;) {
        const ssize_t got = pread(pagemap, entry, sizeof entry, (off_t)(page * sizeof entry[0]));
        if (got < (ssize_t)sizeof entry[0]) break;
        for (size_t i = 0; i < (size_t)got / sizeof entry[0]; i++, page++)
            if (entry[i] & present)
                bytes += overlap_bytes(page * page_bytes, (page + 1) * page_bytes, address, stop);
    }
    return bytes;
}

/* A mapping that overlaps a stretch of memory, which may be a part of it. */
struct mapping {
    uint64_t first, end, resident_bytes, huge_bytes;
    bool is_advised;
};

/* Of a mapping the huge pages that must be in the stretch, since no more can lie beside it than is
 * resident there: neighbours are taken for huge as far as they may be. */
static uint64_t least_huge_bytes(const struct mapping *mapping, uint64_t overlap, uint64_t present)
{
    const uint64_t huge_page_bytes = numalab_memory_huge_page_bytes();
    const uint64_t beside =
        mapping->resident_bytes > present ? mapping->resident_bytes - present : 0;
    const uint64_t most_beside = beside / huge_page_bytes * huge_page_bytes;
    const uint64_t least =
        mapping->huge_bytes > most_beside ? mapping->huge_bytes - most_beside : 0;
    return least < overlap ? least : overlap;
}

/* The next mapping of smaps; false at its end. The line that begins the one after it is in line. */
static bool next_mapping(FILE *smaps, char *line, size_t room, struct mapping *mapping)
{
    static const char *const keys[] = {"AnonHugePages:", "ShmemPmdMapped:", "FilePmdMapped:"};
    *mapping = (struct mapping){0};
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &mapping->first, &mapping->end) != 2) return false;
    while (fgets(line, (int)room, smaps)) {
        uint64_t first, end;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &first, &end) == 2) return true;
        mapping->resident_bytes += value_bytes(line, "Rss:");
        for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
            mapping->huge_bytes += value_bytes(line, keys[i]);
        if (is_advised(line)) mapping->is_advised = true;
    }
    line[0] = '\0';
    return true;
}

int numalab_memory_huge_pages(pid_t pid, uint64_t address, uint64_t bytes,
                              struct numalab_huge_pages *counts)
{
    const uint64_t stop = address + bytes;
    char line[1024] = "";
    struct mapping mapping;
    uint64_t bounded_bytes = 0;
    *counts = (struct numalab_huge_pages){0};

    const int pagemap = open_pagemap(pid);
    FILE *file = pagemap < 0 ? NULL : numalab_proc_open(pid, "smaps");
    if (!file) {
        const int error = pagemap < 0 ? pagemap : -errno;
        if (pagemap >= 0) close(pagemap);
        return error;
    }
    if (!fgets(line, sizeof line, file)) line[0] = '\0';
    while (next_mapping(file, line, sizeof line, &mapping)) {
        const uint64_t overlap = overlap_bytes(mapping.first, mapping.end, address, stop);
        if (!overlap) continue;
        if (mapping.is_advised) counts->advised_bytes += overlap;
        const uint64_t first = mapping.first > address ? mapping.first : address;
        bounded_bytes +=
            least_huge_bytes(&mapping, overlap, present_bytes(pagemap, first, first + overlap));
    }
    fclose(file);
    if (scan_for_huge(pagemap, address, stop, &counts->bytes) < 0) counts->bytes = bounded_bytes;
    close(pagemap);
    return 0;
}
