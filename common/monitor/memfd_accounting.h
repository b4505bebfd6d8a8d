/* Memory that a process holds and that is not resident in it. */
#ifndef NUMALAB_MONITOR_MEMFD_ACCOUNTING_H
#define NUMALAB_MONITOR_MEMFD_ACCOUNTING_H

#include <stdint.h>
#include <sys/types.h>

/* Bytes of memory files (memfd_create, files of tmpfs and hugetlbfs) behind its descriptors, of its
 * own /dev/shm and /tmp, where it has other ones than the caller (a sandbox), and of System V
 * segments that it has made, as far as they are seen from here; of all these those beyond
 * mapped_bytes, which are resident in it and counted there. And what its child processes have in
 * memory. 0 of one that has ended, and of what may not be looked at. */
uint64_t numalab_memfd_bytes(pid_t pid, uint64_t mapped_bytes);

#endif
