#ifndef NUMALAB_WORKER_USERFAULT_H
#define NUMALAB_WORKER_USERFAULT_H

/* Opens a userfaultfd of this process for the monitor to answer. Returns the
 * descriptor, owned by the caller, or a negative errno (-EPERM or -ENOSYS where
 * the system refuses it). */
int numalab_userfault_open(void);

#endif
