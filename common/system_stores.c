#define _GNU_SOURCE
#include "system_stores.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "which architecture does a filter see here?"
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define LET_GO_ON BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define END_IT BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
#define END_AT(call) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), END_IT

/* Numbers from here on name the calls of the x32 interface. */
enum { X32_CALLS = 0x40000000 };

/* Calls whose buffers a library hands over in the kernel's name (read) are not here: those that
 * take any address of a process, or work while the program does. */
static struct sock_filter filter[] = {
    LOAD(arch),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
    END_IT,
    LOAD(nr),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_CALLS, 0, 1),
    END_IT,
    END_AT(process_vm_readv), /* into its own, from its own */
    END_AT(process_vm_writev),
    END_AT(ptrace),
    END_AT(io_uring_setup),
    END_AT(io_setup),
    END_AT(userfaultfd),
    LET_GO_ON,
};

int numalab_refuse_system_stores(void)
{
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) <
            0 &&
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        return -errno;
    return 0;
}
