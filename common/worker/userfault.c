#define _GNU_SOURCE
#include "userfault.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

int numalab_userfault_open(void)
{
    /* Page faults of system calls need a privilege; those of the program's own
     * instructions do not. */
    long descriptor = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    if (descriptor < 0 && errno == EINVAL) /* before Linux 5.11 */
        descriptor = syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK);
    return descriptor < 0 ? -errno : (int)descriptor;
}
