#define _GNU_SOURCE
#include "refused_calls.h"

#include <sys/syscall.h>

/* Architectures differ in which of the old ones they have, and headers in which of the new. */
#define CALL(name, refusal) {SYS_##name, #name, NUMALAB_REFUSED_##refusal}

/* What OpenMP runtimes, libnuma, hwloc, MPICH and ThreadSanitizer need is not here:
 * sched_setaffinity, mbind, get_mempolicy, userfaultfd, personality and the like. clone, which
 * also makes threads, is looked at more closely in confine/main.c. */
const struct numalab_refused_call numalab_refused_calls[] = {
#ifdef SYS_fork
    CALL(fork, BUT_TO_LAUNCHERS),
    CALL(vfork, BUT_TO_LAUNCHERS),
#endif
    CALL(clone3, ENOSYS), /* its flags lie in memory, which a filter can't read; then clone is
                             called */

    CALL(ptrace, WITH_SIGNAL),
    CALL(process_vm_readv, TO_WORKERS),
    CALL(process_vm_writev, TO_WORKERS),
    CALL(kcmp, EPERM),
    CALL(pidfd_open, EPERM),
    CALL(pidfd_send_signal, EPERM),
    CALL(tkill, EPERM), /* names no process; everybody has tgkill */
    /* What they signal, and with what, lies in memory, too. */
    CALL(timer_create, EPERM),
    CALL(mq_notify, EPERM),
#ifdef SYS_pidfd_getfd
    CALL(pidfd_getfd, EPERM),
#endif
#ifdef SYS_process_madvise
    CALL(process_madvise, EPERM),
#endif

    CALL(mount, WITH_SIGNAL),
    CALL(umount2, WITH_SIGNAL),
    CALL(pivot_root, WITH_SIGNAL),
    CALL(chroot, WITH_SIGNAL),
    CALL(setns, WITH_SIGNAL),
    CALL(unshare, WITH_SIGNAL),
    CALL(move_mount, EPERM),
    CALL(open_tree, EPERM),
    CALL(fsopen, EPERM),
    CALL(fsconfig, EPERM),
    CALL(fsmount, EPERM),
    CALL(fspick, EPERM),
#ifdef SYS_mount_setattr
    CALL(mount_setattr, EPERM),
#endif
    CALL(name_to_handle_at, EPERM),
    CALL(open_by_handle_at, EPERM),
    CALL(fanotify_init, EPERM),
    CALL(quotactl, EPERM),

    CALL(bpf, EPERM),
    CALL(perf_event_open, EPERM),
    /* Requests on a ring pass by every filter. */
    CALL(io_uring_setup, ENOSYS),
    CALL(io_uring_enter, ENOSYS),
    CALL(io_uring_register, ENOSYS),
    CALL(add_key, EPERM),
    CALL(request_key, EPERM),
    CALL(keyctl, EPERM),

    CALL(init_module, EPERM),
    CALL(finit_module, EPERM),
    CALL(delete_module, EPERM),
    CALL(kexec_load, EPERM),
#ifdef SYS_kexec_file_load
    CALL(kexec_file_load, EPERM),
#endif
    CALL(reboot, EPERM),
    CALL(swapon, EPERM),
    CALL(swapoff, EPERM),
    CALL(acct, EPERM),
    CALL(syslog, EPERM),
    CALL(sethostname, EPERM),
    CALL(setdomainname, EPERM),
    CALL(settimeofday, EPERM),
    CALL(clock_settime, EPERM),
    CALL(clock_adjtime, EPERM),
    CALL(adjtimex, EPERM),
    CALL(vhangup, EPERM),
#ifdef SYS_iopl
    CALL(iopl, EPERM),
    CALL(ioperm, EPERM),
#endif
};

const size_t numalab_refused_call_count =
    sizeof numalab_refused_calls / sizeof numalab_refused_calls[0];

const char *numalab_refused_call_name(long number)
{
    if (number == SYS_clone) return "clone"; /* of a process */
    for (size_t i = 0; i < numalab_refused_call_count; i++)
        if (numalab_refused_calls[i].number == number) return numalab_refused_calls[i].name;
    return NULL;
}
