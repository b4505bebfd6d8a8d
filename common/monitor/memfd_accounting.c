#define _GNU_SOURCE
#include "memfd_accounting.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "proc.h"

/* Of linux/magic.h, where not all of them are on older systems. */
static const uint32_t tmpfs = 0x01021994, hugetlbfs = 0x958458f6;

/* More descriptors than that are looked at by nobody; a sandbox allows a worker 64. */
enum { MOST_FILES = 4096, PATH_BYTES = 96, BLOCK_BYTES = 512 };

struct file_id {
    dev_t device;
    ino_t inode;
};

static bool is_of_memory(const char *path)
{
    struct statfs system;
    if (statfs(path, &system) < 0) return false;
    return (uint32_t)system.f_type == tmpfs || (uint32_t)system.f_type == hugetlbfs;
}

/* A file counts once, however many descriptors there are. */
static bool is_known(const struct file_id *known, size_t count, const struct stat *file)
{
    for (size_t i = 0; i < count; i++)
        if (known[i].device == file->st_dev && known[i].inode == file->st_ino) return true;
    return false;
}

/* A folder in which a worker in a sandbox has a file system of its own, counted as a whole. device:
 * 0 where it has none, or none of memory. */
struct own_folder {
    const char *path;
    dev_t device;
};
enum { OWN_FOLDERS = 2 };

static bool is_in_own_folder(const struct own_folder own[OWN_FOLDERS], const struct stat *file)
{
    for (size_t i = 0; i < OWN_FOLDERS; i++)
        if (own[i].device == file->st_dev) return true;
    return false;
}

static uint64_t bytes_behind_descriptors(pid_t pid, const struct own_folder own[OWN_FOLDERS])
{
    static struct file_id known[MOST_FILES];
    char path[PATH_BYTES];
    uint64_t bytes = 0;
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder)) && count < MOST_FILES;) {
        struct stat file;
        snprintf(path, sizeof path, "/proc/%d/fd/%.20s", (int)pid, entry->d_name);
        if (stat(path, &file) < 0 || !S_ISREG(file.st_mode) || file.st_blocks == 0) continue;
        if (!is_of_memory(path) || is_known(known, count, &file) || is_in_own_folder(own, &file))
            continue;
        known[count++] = (struct file_id){file.st_dev, file.st_ino};
        bytes += (uint64_t)file.st_blocks * BLOCK_BYTES;
    }
    closedir(folder);
    return bytes;
}

/* Looks whether a folder's file system is one of memory and another one than ours, and what is in
 * it. */
static uint64_t bytes_of_own(pid_t pid, struct own_folder *own)
{
    char path[PATH_BYTES];
    struct stat its, ours;
    struct statfs system;
    snprintf(path, sizeof path, "/proc/%d/root%s", (int)pid, own->path);
    if (stat(path, &its) < 0 || stat(own->path, &ours) < 0 || its.st_dev == ours.st_dev) return 0;
    if (!is_of_memory(path) || statfs(path, &system) < 0) return 0;
    own->device = its.st_dev;
    return (uint64_t)(system.f_blocks - system.f_bfree) * (uint64_t)system.f_bsize;
}

/* Of segments, attached or not, that it has made in our own IPC namespace. */
static uint64_t segment_bytes(pid_t pid)
{
    char line[512];
    uint64_t bytes = 0;
    FILE *file = fopen("/proc/sysvipc/shm", "re");
    while (file && fgets(line, sizeof line, file)) {
        int maker = 0;
        uint64_t resident = 0;
        /* key shmid perms size cpid lpid nattch uid gid cuid cgid atime dtime ctime rss swap */
        if (sscanf(line, "%*d %*d %*o %*u %d %*d %*u %*u %*u %*u %*u %*u %*u %*u %" SCNu64, &maker,
                   &resident) == 2 &&
            maker == (int)pid)
            bytes += resident;
    }
    if (file) fclose(file);
    return bytes;
}

static uint64_t resident_bytes(pid_t pid)
{
    unsigned long long resident = 0;
    FILE *file = numalab_proc_open(pid, "statm");
    if (!file) return 0;
    if (fscanf(file, "%*u %llu", &resident) != 1) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Its share of what is resident: pages that a fork has in common with others count once in all.
 * Of a process that lets nobody look (PR_SET_DUMPABLE), all of it. */
static uint64_t proportional_bytes(pid_t pid)
{
    char line[128];
    uint64_t kib = 0;
    FILE *file = numalab_proc_open(pid, "smaps_rollup");
    if (!file) return resident_bytes(pid);
    bool is_told = false;
    while (!is_told && fgets(line, sizeof line, file))
        is_told = sscanf(line, "Pss: %" SCNu64, &kib) == 1;
    fclose(file);
    return is_told ? kib << 10 : resident_bytes(pid);
}

/* Of all that it has started, and that is still below it. */
static uint64_t bytes_of_children(pid_t pid, int depth)
{
    enum { MOST_DEPTH = 8 };
    char path[PATH_BYTES];
    uint64_t bytes = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = depth < MOST_DEPTH ? opendir(path) : NULL;
    if (!folder) return 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        int child;
        const pid_t thread = numalab_proc_number(entry->d_name);
        FILE *file = thread > 0 ? numalab_proc_open_thread(pid, thread, "children") : NULL;
        while (file && fscanf(file, "%d", &child) == 1)
            bytes += proportional_bytes((pid_t)child) + bytes_of_children((pid_t)child, depth + 1);
        if (file) fclose(file);
    }
    closedir(folder);
    return bytes;
}

uint64_t numalab_memfd_bytes(pid_t pid, uint64_t mapped_bytes)
{
    struct own_folder own[OWN_FOLDERS] = {{.path = "/dev/shm"}, {.path = "/tmp"}};
    uint64_t files = segment_bytes(pid);
    for (size_t i = 0; i < OWN_FOLDERS; i++) files += bytes_of_own(pid, &own[i]);
    files += bytes_behind_descriptors(pid, own);
    files = files > mapped_bytes ? files - mapped_bytes : 0;
    return files + bytes_of_children(pid, 0);
}
