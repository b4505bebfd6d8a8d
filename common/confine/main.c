/* confine ROLE PROCESSES CPU_SECONDS PROGRAM [ARGUMENT...]: the last step into a sandbox. Limits
 * what a program can use up, refuses it some system calls, and becomes it.
 *
 * That is done here and not in the worker, because a kernel's constructors run before the
 * worker's main. ROLE is "worker", which says hello on the channel before it becomes
 * the program, so that the monitor learns the process from somebody it can trust; "watched", a
 * worker that tells of each store; "launcher" of ranks, which sends with its hello the descriptor
 * by which the monitor allows each process that it starts; or "rank" of an MPI job, which connects
 * by itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
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

#include "message.h"
#include "numbers.h"
#include "protocol.h"
#include "refused_calls.h"
#include "system_stores.h"
#include "traced_pages.h"

enum { EXIT_MISUSE = 2, EXIT_NOT_CONFINED = 125, EXIT_NO_COMMAND = 127 };

/* A worker has its channel, its output, and what libraries open; memory files are limited by
 * how many there can be and how large. A rank has sockets to its launcher and shared memory
 * with all other ranks. */
enum { WORKER_FILES = 64, RANK_FILES = 4096 };

enum role { WORKER, WATCHED, LAUNCHER, RANK };
static const char *const role_names[] = {
    [WORKER] = "worker", [WATCHED] = "watched", [LAUNCHER] = "launcher", [RANK] = "rank"};
enum { ROLES = sizeof role_names / sizeof role_names[0] };

static bool is_worker(enum role role)
{
    return role == WORKER || role == WATCHED;
}

static int send_hello(int descriptor)
{
    const struct numalab_message hello = {.kind = NUMALAB_HELLO};
    return numalab_send_message(NUMALAB_CHANNEL_FD, &hello, descriptor);
}

static bool is_linux_from(unsigned least_major, unsigned least_minor)
{
    struct utsname name;
    unsigned major = 0, minor = 0;
    if (uname(&name) < 0 || sscanf(name.release, "%u.%u", &major, &minor) != 2) return false;
    return major > least_major || (major == least_major && minor >= least_minor);
}

#ifdef NUMALAB_WITHOUT_FILTERS
/* Only on virtual nodes, where another user without a privilege is what keeps it apart. */
static int install_filters(enum role role)
{
    return role == LAUNCHER ? send_hello(-1) : 0;
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
    case NUMALAB_REFUSED_BUT_TO_LAUNCHERS:
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

static bool is_refused(enum numalab_refusal refusal, enum role role)
{
    if (refusal == NUMALAB_REFUSED_TO_WORKERS) return is_worker(role);
    return refusal != NUMALAB_REFUSED_BUT_TO_LAUNCHERS || role != LAUNCHER;
}

static int refuse_listed(scmp_filter_ctx filter, enum role role)
{
    int error = 0;
    for (size_t i = 0; !error && i < numalab_refused_call_count; i++) {
        const struct numalab_refused_call *call = &numalab_refused_calls[i];
        if (!is_refused(call->refusal, role)) continue;
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

/* Signals go to nobody but oneself: by number, for which another may stand in the upper half, and
 * by descriptors that tell of input. SIGCONT goes to nobody: the monitor stops workers, and a timer
 * or a terminal's end would wake them (timer_create and mq_notify are in the list). */
static int refuse_signals(scmp_filter_ctx filter)
{
    const unsigned long own = (unsigned long)getpid();
    static const struct {
        int call;
        unsigned signal_argument;
    } calls[] = {{SCMP_SYS(kill), 1},
                 {SCMP_SYS(tgkill), 2},
                 {SCMP_SYS(rt_sigqueueinfo), 1},
                 {SCMP_SYS(rt_tgsigqueueinfo), 2}};
    static const unsigned owners[] = {FIOSETOWN, SIOCSPGRP, TIOCSCTTY, TIOCSPTLCK, TIOCGPTPEER};
    const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
    int error = 0;
    for (size_t i = 0; !error && i < sizeof calls / sizeof calls[0]; i++) {
        error = seccomp_rule_add(filter, refused, calls[i].call, 1, SCMP_A0(SCMP_CMP_NE, own));
        if (!error)
            error = refuse_value(filter, EPERM, calls[i].call, calls[i].signal_argument, SIGCONT);
    }
    for (size_t i = 0; !error && i < sizeof owners / sizeof owners[0]; i++)
        error = refuse_value(filter, EPERM, SYS_ioctl, 1, owners[i]);
    if (!error) error = refuse_value(filter, EPERM, SYS_fcntl, 1, F_SETOWN_EX);
    if (!error)
        error = seccomp_rule_add(filter, refused, SCMP_SYS(fcntl), 2,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETOWN),
                                 SCMP_A2(SCMP_CMP_NE, own));
    if (!error)
        error = seccomp_rule_add(filter, refused, SCMP_SYS(fcntl), 2,
                                 SCMP_A1(SCMP_CMP_MASKED_EQ, UINT32_MAX, F_SETSIG),
                                 SCMP_A2(SCMP_CMP_MASKED_EQ, UINT32_MAX, SIGCONT));
    return error;
}

/* Ranks reach into each other's memory, and not into that of what has started them: those processes
 * came before them, and so did their numbers, which begin anew behind the first 300 only. */
static int refuse_older_processes(scmp_filter_ctx filter)
{
    static const int calls[] = {SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev)};
    const uint32_t refused = SCMP_ACT_ERRNO(EPERM);
    int error = 0;
    for (size_t i = 0; !error && i < sizeof calls / sizeof calls[0]; i++) {
        error = seccomp_rule_add(filter, refused, calls[i], 1,
                                 SCMP_A0(SCMP_CMP_LE, (unsigned long)getppid()));
        if (!error)
            error = seccomp_rule_add(filter, refused, calls[i], 1, SCMP_A0(SCMP_CMP_GT, INT32_MAX));
    }
    return error;
}

/* A process; clone also makes threads. */
static int refuse_processes(scmp_filter_ctx filter, uint32_t action)
{
    return seccomp_rule_add(filter, action, SCMP_SYS(clone), 1,
                            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
}

/* The monitor is asked about each, and nobody allows it once the monitor does not listen any more.
 */
static int ask_for_processes(scmp_filter_ctx filter)
{
    int error = refuse_processes(filter, SCMP_ACT_NOTIFY);
#ifdef SYS_fork
    if (!error) error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(fork), 0);
    if (!error) error = seccomp_rule_add(filter, SCMP_ACT_NOTIFY, SCMP_SYS(vfork), 0);
#endif
    return error;
}

static int refuse_by_arguments(scmp_filter_ctx filter)
{
    int error = refuse_sockets(filter);
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
static int install_filters(enum role role)
{
    scmp_filter_ctx outer = open_filter(SCMP_ACT_KILL_PROCESS);
    scmp_filter_ctx inner = open_filter(SCMP_ACT_ERRNO(ENOSYS));
    const bool asks = role == LAUNCHER && is_linux_from(5, 5) && seccomp_api_get() >= 5;
    int error = outer && inner ? 0 : -EINVAL;
#ifdef __x86_64__
    if (!error) error = seccomp_arch_add(outer, SCMP_ARCH_X32);
#endif
    if (!error) error = refuse_listed(inner, role);
    if (!error) error = refuse_by_arguments(inner);
    if (!error && role != LAUNCHER) error = refuse_processes(inner, SCMP_ACT_TRAP);
    if (!error && role != LAUNCHER) error = refuse_signals(inner);
    if (!error && role == RANK) error = refuse_older_processes(inner);
    if (!error && asks) error = ask_for_processes(inner);
    if (!error) error = seccomp_load(outer);
    if (!error) error = seccomp_load(inner);
    if (!error && role == LAUNCHER) error = send_hello(asks ? seccomp_notify_fd(inner) : -1);
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

static int limit_all(enum role role, unsigned long processes, unsigned long cpu_s)
{
    /* A trace has the largest. */
    const unsigned long file_bytes =
        (unsigned long)NUMALAB_MOST_TRACED_PAGES * 3 / 2 * (unsigned long)sysconf(_SC_PAGESIZE);
    int error = limit(RLIMIT_CORE, 0);
    /* Processes are counted by namespace; older kernels count all of the user. */
    if (!error && is_linux_from(5, 14)) error = limit(RLIMIT_NPROC, processes);
    if (!error) error = limit(RLIMIT_NOFILE, is_worker(role) ? WORKER_FILES : RANK_FILES);
    if (!error) error = limit(RLIMIT_FSIZE, file_bytes);
    if (!error) error = limit(RLIMIT_MSGQUEUE, 0);
    if (!error) error = limit(RLIMIT_CPU, cpu_s);
    return error;
}

static int complain(const char *what, int error)
{
    fprintf(stderr, "confine: can't %s: %s\n", what, strerror(-error));
    return EXIT_NOT_CONFINED;
}

static int misuse(const char *word)
{
    fprintf(
        stderr,
        "confine: can't take %s: unknown, incomplete or out of range\n"
        "usage: confine worker|watched|launcher|rank PROCESSES CPU_SECONDS PROGRAM [ARGUMENT...]\n"
        "PROCESSES, CPU_SECONDS: whole numbers from 1 to %" PRId64 "\n",
        word, INT64_MAX);
    return EXIT_MISUSE;
}

int main(int argc, char **argv)
{
    unsigned role = 0;
    while (argc > 4 && role < ROLES && strcmp(argv[1], role_names[role]) != 0) role++;
    if (argc < 5 || role == ROLES) return misuse(argc > 1 ? argv[1] : "nothing");
    uint64_t processes, cpu_s;
    if (numalab_read_whole(argv[2], 1, INT64_MAX, &processes) < 0) return misuse(argv[2]);
    if (numalab_read_whole(argv[3], 1, INT64_MAX, &cpu_s) < 0) return misuse(argv[3]);
    int error = limit_all(role, processes, cpu_s);
    if (error < 0) return complain("limit a program", error);
    if (is_worker(role) && (error = send_hello(-1)) < 0) return complain("say hello", error);
    if (role == WATCHED && (error = numalab_refuse_system_stores()) < 0)
        return complain("filter system calls", error);
    if ((error = install_filters(role)) < 0) return complain("filter system calls", error);
    if (role == LAUNCHER) close(NUMALAB_CHANNEL_FD);
    execvp(argv[4], argv + 4);
    complain(role == LAUNCHER ? "start the launcher of ranks" : "start the worker", -errno);
    return EXIT_NO_COMMAND;
}
