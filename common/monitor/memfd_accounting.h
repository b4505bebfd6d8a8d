/* Counts memory that a process holds and that is not resident in it. */
#ifndef NUMALAB_MONITOR_MEMFD_ACCOUNTING_H
#define NUMALAB_MONITOR_MEMFD_ACCOUNTING_H

#include <stdint.h>
#include <sys/types.h>

/* Returns the bytes of a process's memory files (memfd_create, files of tmpfs and hugetlbfs) behind
 * its descriptors, of its own /dev/shm and /tmp, if they are others than the caller's (a sandbox),
 * and of System V segments that it made, as far as they are visible to the caller; of all these
 * those beyond mapped_bytes, which are resident in it and counted there. Added is what its child
 * processes have in memory. 0 for a process that has ended; what may not be read counts as 0. */
uint64_t numalab_memfd_bytes(pid_t pid, uint64_t mapped_bytes);

#endif
