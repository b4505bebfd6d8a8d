#define _GNU_SOURCE
#include "remote_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "monitor/proc.h"

static bool is_refusal(int error)
{
    return error == EPERM || error == ENOSYS || error == EACCES;
}

static uint64_t overlap(uint64_t first, uint64_t end, const struct iovec *part)
{
    const uint64_t start = (uintptr_t)part->iov_base, stop = start + part->iov_len;
    const uint64_t from = first > start ? first : start, to = end < stop ? end : stop;
    return from < to ? to - from : 0;
}

/* Whether the process itself may read, or write, all of it. Returns 0, -EFAULT, or a negative
 * errno.
 */
static int check_protection(pid_t pid, const struct iovec *remote, size_t count, bool is_write)
{
    char line[512];
    uint64_t *missing = malloc(count * sizeof *missing);
    FILE *maps = missing ? numalab_proc_open(pid, "maps") : NULL;
    int error = maps ? 0 : -errno;
    for (size_t i = 0; maps && i < count; i++) missing[i] = remote[i].iov_len;
    while (maps && fgets(line, sizeof line, maps)) {
        uint64_t first, end;
        char rights[5];
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &first, &end, rights) != 3 ||
            rights[is_write ? 1 : 0] == '-')
            continue;
        for (size_t i = 0; i < count; i++) missing[i] -= overlap(first, end, &remote[i]);
    }
    for (size_t i = 0; maps && i < count && !error; i++)
        if (missing[i]) error = -EFAULT;
    if (maps) fclose(maps);
    free(missing);
    return error;
}

/* One part through the file. Returns 0 or a negative errno. */
static int transfer(int file, const struct iovec *local, const struct iovec *remote, bool is_write)
{
    char *bytes = local->iov_base;
    for (size_t done = 0; done < local->iov_len;) {
        const size_t left = local->iov_len - done;
        const off_t at = (off_t)((uintptr_t)remote->iov_base + done);
        const ssize_t part =
            is_write ? pwrite(file, bytes + done, left, at) : pread(file, bytes + done, left, at);
        if (part < 0 && errno == EINTR) continue;
        if (part < 0) return errno == EIO ? -EFAULT : -errno;
        if (part == 0) return -ESRCH; /* its memory is gone, and so is the process */
        done += (size_t)part;
    }
    return 0;
}

int numalab_remote_memory_use_file(pid_t pid, const struct iovec *local, const struct iovec *remote,
                                   size_t count, int is_write)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
    const int file = open(path, (is_write ? O_RDWR : O_RDONLY) | O_CLOEXEC);
    if (file < 0) return errno == ENOENT ? -ESRCH : -errno;
    int error = check_protection(pid, remote, count, is_write);
    for (size_t i = 0; i < count && !error; i++)
        error = transfer(file, &local[i], &remote[i], is_write);
    close(file);
    return error;
}

/* refused: the errno of the first way. */
static int fall_back(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t count,
                     bool is_write, int refused)
{
    if (!is_refusal(refused)) return -refused;
    const int error = numalab_remote_memory_use_file(pid, local, remote, count, is_write);
    return is_refusal(-error) ? -refused : error;
}

int numalab_remote_memory_read(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
    const struct iovec local = {buffer, bytes}, remote = {(void *)(uintptr_t)address, bytes};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got == (ssize_t)bytes) return 0;
    return got < 0 ? fall_back(pid, &local, &remote, 1, false, errno) : -EFAULT;
}

int numalab_remote_memory_write(pid_t pid, const struct iovec *local, const struct iovec *remote,
                                size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += remote[i].iov_len;
    const ssize_t put = process_vm_writev(pid, local, count, remote, count, 0);
    if (put == (ssize_t)bytes) return 0;
    return put < 0 ? fall_back(pid, local, remote, count, true, errno) : -EFAULT;
}
