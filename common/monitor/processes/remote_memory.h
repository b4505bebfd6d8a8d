/* Reading and writing another process's memory. */
#ifndef NUMALAB_REMOTE_MEMORY_H
#define NUMALAB_REMOTE_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/* By process_vm_readv(2) and process_vm_writev(2); where those are refused or not there (kernels
 * without CONFIG_CROSS_MEMORY_ATTACH, Podman's profile before 2022), by /proc/PID/mem, which asks
 * for the same rights and is no system call of its own that a filter could refuse. That file passes
 * by the protection of pages; so what may be read or written is then looked up first, and both ways
 * give one answer.
 *
 * read: bytes from address into buffer. write: each there[i] gets here[i], of the same length. Each
 * returns 0, -EFAULT where part of it is not there or may not be read or written, or another
 * negative errno: of the first way where both are refused. */
int numalab_remote_memory_read(pid_t pid, uint64_t address, void *buffer, size_t bytes);
int numalab_remote_memory_write(pid_t pid, const struct iovec *local, const struct iovec *remote,
                                size_t count);

/* By the file alone, for probes and tests. Otherwise as above. */
int numalab_remote_memory_use_file(pid_t pid, const struct iovec *local, const struct iovec *remote,
                                   size_t count, int is_write);

#endif
