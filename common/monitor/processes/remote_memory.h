/* Reads and writes another process's memory. */
#ifndef NUMALAB_REMOTE_MEMORY_H
#define NUMALAB_REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Both use process_vm_readv(2) and process_vm_writev(2). If those are refused or missing (Linux
 * without CONFIG_CROSS_MEMORY_ATTACH, Podman's profile before 2022) they use /proc/PID/mem, which
 * needs the same rights and no system call that a filter could refuse. That file ignores the
 * protection of pages, which is therefore checked first, so that both ways give the same results.
 *
 * read: copies bytes from address to buffer. write: copies count pieces, local[i] of this process
 * to remote[i] of the other, of the same length. Each returns 0, -EFAULT if a part is not mapped or
 * may not be read or written, or another negative errno: the first way's if both are refused. */
int numalab_remote_memory_read(pid_t pid, uint64_t address, void *buffer, size_t bytes);
int numalab_remote_memory_write(pid_t pid, const struct iovec *local, const struct iovec *remote,
                                size_t count);

/* The same by /proc/PID/mem alone, for probes and tests: reads count pieces, or writes them if
 * is_write is not 0. */
int numalab_remote_memory_use_file(pid_t pid, const struct iovec *local, const struct iovec *remote,
                                   size_t count, int is_write);

#endif
