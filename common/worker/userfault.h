#ifndef NUMALAB_WORKER_USERFAULT_H
#define NUMALAB_WORKER_USERFAULT_H

/* Opens a userfaultfd of this process: of a worker for the monitor to answer, of the monitor to see
 * whether a worker could. Returns the descriptor, owned by the caller, or a negative errno (-EPERM
 * or -ENOSYS where the system refuses it). */
int numalab_userfault_open(void);

#endif
