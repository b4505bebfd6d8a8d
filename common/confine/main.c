/* confine ROLE PROCESSES CPU_SECONDS PROGRAM: the last step into a sandbox. Limits what a
 * program can use up, refuses it some system calls, and becomes it.
 *
 * That is done here and not in the worker, because a kernel's constructors run before the
 * worker's main. ROLE is "worker", which says hello on the channel before it becomes
 * the program, so that the monitor learns the process from somebody it can trust; or
 * "rank" of an MPI job, which connects by itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#ifndef NUMALAB_WITHOUT_FILTERS
#include <seccomp.h>
#endif

#include "protocol.h"
#include "refused_calls.h"
#include "traced_pages.h"

enum { EXIT_NOT_CONFINED = 125, EXIT_NOT_FOUND = 127 };

/* A worker has its channel, its output, and what libraries open; memory files are limited by
 * how many there can be and how large. A rank has sockets to its launcher and shared memory
 * with all other ranks. */
enum { WORKER_FILES = 64, RANK_FILES = 4096 };

#ifdef NUMALAB_WITHOUT_FILTERS
/* Only on virtual nodes, where another user without a privilege is what keeps it apart. */
static int install_filters(bool is_rank)
{
    (void)is_rank;
    return 0;
}
#else

#if !defined(__x86_64__) && !defined(__aarch64__)
#error "in which of clone's arguments does this architecture have its flags?"
#endif

static uint32_t action_of(enum numalab_refusal refusal)
{
    switch (refusal) {
    case NUMALAB_REFUSED_WITH_SIGNAL:
    case NUMALAB_REFUSED_TO_WORKERS:
        return SCMP_ACT_TRAP;
    case NUMALAB_REFUSED_ENOSYS:
        return SCMP_ACT_ERRNO(ENOSYS);
    case NUMALAB_REFUSED_EPERM:
    default:
        return SCMP_ACT_ERRNO(EPERM);
    }
}

/* An argument with a value; of the kernel's 32-bit ones the upper half is anything. */
static int refuse_value(scmp_filter_ctx filter, int error, long call, unsigned argument,
                        unsigned value)
{
    return seccomp_rule_add(filter, SCMP_ACT_ERRNO((uint32_t)error), (int)call, 1,
                            SCMP_CMP(argument, SCMP_CMP_MASKED_EQ, UINT32_MAX, value));
}

static int refuse_listed(scmp_filter_ctx filter, bool is_rank)
{
    int error = 0;
    for (size_t i = 0; !error && i < numalab_refused_call_count; i++) {
        const struct numalab_refused_call *call = &numalab_refused_calls[i];
        if (call->refusal == NUMALAB_REFUSED_TO_WORKERS && is_rank) continue;
        error = seccomp_rule_add(filter, action_of(call->refusal), (int)call->number, 0);
    }
    return error;
}

/* No network is there; of other families some know no namespaces (AF_VSOCK). Nobody puts anything
 * in the upper half of theirs. */
static int refuse_sockets(scmp_filter_ctx filter)
{
    static const bool is_allowed[AF_NETLINK + 1] = {
        [AF_UNIX] = true, [AF_INET] = true, [AF_INET6] = true, [AF_NETLINK] = true};
    const uint32_t refused = SCMP_ACT_ERRNO(EAFNOSUPPORT);
    int error =
        seccomp_rule_add(filter, refused, SCMP_SYS(socket), 1, SCMP_A0(SCMP_CMP_GT, AF_NETLINK));
    for (unsigned family = 0; !error && family <= AF_NETLINK; family++)
        if (!is_allowed[family])
            error = seccomp_rule_add(filter, refused, SCMP_SYS(socket), 1,
                                     SCMP_A0(SCMP_CMP_EQ, family));
    return error;
}

static int refuse_by_arguments(scmp_filter_ctx filter)
{
    /* A process; clone also makes threads. */
    int error = seccomp_rule_add(filter, SCMP_ACT_TRAP, SCMP_SYS(clone), 1,
                                 SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    if (!error) error = refuse_sockets(filter);
    /* A process that is not dumpable hides from the monitor; huge pages are the kit's choice. */
    if (!error) error = refuse_value(filter, EPERM, SYS_prctl, 0, PR_SET_DUMPABLE);
    if (!error) error = refuse_value(filter, EPERM, SYS_prctl, 0, PR_SET_THP_DISABLE);
    if (!error) error = refuse_value(filter, EPERM, SYS_ioctl, 1, TIOCSTI);
    if (!error) error = refuse_value(filter, EPERM, SYS_ioctl, 1, TIOCLINUX);
    return error;
}

/* A filter that lets everything through but calls of other interfaces than this program's. */
static scmp_filter_ctx open_filter(uint32_t action_of_others)
{
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);
    if (!filter) return NULL;
    /* Without this older kernels switch off speculation past stores, and times with it. */
    if (seccomp_attr_set(filter, SCMP_FLTATR_CTL_SSB, 1) == 0 &&
        seccomp_attr_set(filter, SCMP_FLTATR_API_SYSRAWRC, 1) == 0 &&
        seccomp_attr_set(filter, SCMP_FLTATR_ACT_BADARCH, action_of_others) == 0)
        return filter;
    seccomp_release(filter);
    return NULL;
}

/* Two filters, of whose answers the harder one counts: calls in 32-bit mode end the process, those
 * of the x32 interface, whose numbers name the same calls otherwise, are not there. */
static int install_filters(bool is_rank)
{
    scmp_filter_ctx outer = open_filter(SCMP_ACT_KILL_PROCESS);
    scmp_filter_ctx inner = open_filter(SCMP_ACT_ERRNO(ENOSYS));
    int error = outer && inner ? 0 : -EINVAL;
#ifdef __x86_64__
    if (!error) error = seccomp_arch_add(outer, SCMP_ARCH_X32);
#endif
    if (!error) error = refuse_listed(inner, is_rank);
    if (!error) error = refuse_by_arguments(inner);
    if (!error) error = seccomp_load(outer);
    if (!error) error = seccomp_load(inner);
    if (outer) seccomp_release(outer);
    if (inner) seccomp_release(inner);
    return error;
}
#endif

static int limit(int resource, unsigned long value)
{
    struct rlimit old;
    if (getrlimit(resource, &old) < 0) return -errno;
    const rlim_t least = old.rlim_max < value ? old.rlim_max : value;
    return setrlimit(resource, &(struct rlimit){least, least}) < 0 ? -errno : 0;
}

/* Whether processes are counted by namespace; older kernels count all of the user. */
static bool counts_by_namespace(void)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) return false;
    return major > 5 || (major == 5 && minor >= 14);
}

static int limit_all(bool is_rank, unsigned long processes, unsigned long cpu_s)
{
    /* A trace has the largest. */
    const unsigned long file_bytes =
        (unsigned long)NUMALAB_MOST_TRACED_PAGES * 3 / 2 * (unsigned long)sysconf(_SC_PAGESIZE);
    int error = limit(RLIMIT_CORE, 0);
    if (!error && counts_by_namespace()) error = limit(RLIMIT_NPROC, processes);
    if (!error) error = limit(RLIMIT_NOFILE, is_rank ? RANK_FILES : WORKER_FILES);
    if (!error) error = limit(RLIMIT_FSIZE, file_bytes);
    if (!error) error = limit(RLIMIT_MSGQUEUE, 0);
    if (!error) error = limit(RLIMIT_CPU, cpu_s);
    return error;
}

static int say_hello(void)
{
    const struct numalab_message hello = {.kind = NUMALAB_HELLO};
    return send(NUMALAB_CHANNEL_FD, &hello, sizeof hello, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

static int complain(const char *what, int error)
{
    fprintf(stderr, "confine: can't %s: %s\n", what, strerror(-error));
    return EXIT_NOT_CONFINED;
}

int main(int argc, char **argv)
{
    if (argc != 5 || (strcmp(argv[1], "worker") != 0 && strcmp(argv[1], "rank") != 0)) {
        fprintf(stderr, "usage: confine worker|rank PROCESSES CPU_SECONDS PROGRAM\n");
        return EXIT_NOT_CONFINED;
    }
    const bool is_rank = strcmp(argv[1], "rank") == 0;
    int error = limit_all(is_rank, strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10));
    if (error < 0) return complain("limit a program", error);
    if (!is_rank && (error = say_hello()) < 0) return complain("say hello", error);
    if ((error = install_filters(is_rank)) < 0) return complain("filter system calls", error);
    execl(argv[4], argv[4], (char *)NULL);
    complain("start the worker", -errno);
    return EXIT_NOT_FOUND;
}
