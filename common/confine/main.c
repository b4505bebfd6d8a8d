/* confine ROLE PROCESSES CPU_SECONDS PROGRAM: the last step into a sandbox. Limits what a
 * program can use up, refuses it some system calls, and becomes it.
 *
 * That is done here and not in the worker, because a kernel's constructors run before the
 * worker's main. ROLE is "worker", which says hello on the channel before it becomes
 * the program, so that the monitor learns the process from somebody it can trust; or
 * "rank" of an MPI job, which connects by itself. */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
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

#include "protocol.h"
#include "refused_calls.h"
#include "traced_pages.h"

enum { EXIT_NOT_CONFINED = 125, EXIT_NOT_FOUND = 127 };

/* A worker has its channel, its output, and what libraries open; memory files are limited by
 * how many there can be and how large. A rank has sockets to its launcher and shared memory
 * with all other ranks. */
enum { WORKER_FILES = 64, RANK_FILES = 4096 };

#if defined(__x86_64__)
enum { ARCHITECTURE = AUDIT_ARCH_X86_64, CLONE_FLAGS_ARGUMENT = 0 };
/* Set in numbers of the x32 interface, which names the same calls otherwise. */
#define FOREIGN_NUMBERS 0x40000000u
#elif defined(__aarch64__)
enum { ARCHITECTURE = AUDIT_ARCH_AARCH64, CLONE_FLAGS_ARGUMENT = 0 };
#else
#error "the filter does not know this architecture"
#endif

enum { MOST_INSTRUCTIONS = 512 };

struct filter {
    struct sock_filter instruction[MOST_INSTRUCTIONS];
    unsigned short count;
};

static void add(struct filter *filter, struct sock_filter instruction)
{
    if (filter->count < MOST_INSTRUCTIONS) filter->instruction[filter->count++] = instruction;
}

static void load(struct filter *filter, size_t offset)
{
    add(filter, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset));
}

/* The lower half; no value that is looked at is larger. */
static void load_argument(struct filter *filter, size_t index)
{
    size_t offset = offsetof(struct seccomp_data, args) + index * sizeof(__u64);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    offset += sizeof(__u32);
#endif
    load(filter, offset);
}

static void answer(struct filter *filter, unsigned action)
{
    add(filter, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* Answers where what is loaded has the value; otherwise goes on. */
static void answer_if_equal(struct filter *filter, unsigned value, unsigned action)
{
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1));
    answer(filter, action);
}

static void answer_if_clear(struct filter *filter, unsigned bits, unsigned action)
{
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 1, 0));
    answer(filter, action);
}

/* Of a call of that number an argument is looked at by what is added from here to end_of_call;
 * returns where. */
static unsigned short begin_call(struct filter *filter, long number, size_t argument)
{
    const unsigned short jump = filter->count;
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 0));
    load_argument(filter, argument);
    return jump;
}

/* action: where nothing has answered. */
static void end_of_call(struct filter *filter, unsigned short jump, unsigned action)
{
    answer(filter, action);
    filter->instruction[jump].jf = (unsigned char)(filter->count - jump - 1);
}

static unsigned action_of(enum numalab_refusal refusal)
{
    switch (refusal) {
    case NUMALAB_REFUSED_WITH_SIGNAL:
    case NUMALAB_REFUSED_TO_WORKERS:
        return SECCOMP_RET_TRAP;
    case NUMALAB_REFUSED_ENOSYS:
        return SECCOMP_RET_ERRNO | ENOSYS;
    case NUMALAB_REFUSED_EPERM:
    default:
        return SECCOMP_RET_ERRNO | EPERM;
    }
}

static void make_filter(struct filter *filter, bool is_rank)
{
    static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK};
    unsigned short call;

    load(filter, offsetof(struct seccomp_data, arch));
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    answer(filter, SECCOMP_RET_KILL_PROCESS);
    load(filter, offsetof(struct seccomp_data, nr));
#ifdef FOREIGN_NUMBERS
    add(filter, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, FOREIGN_NUMBERS, 0, 1));
    answer(filter, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    for (size_t i = 0; i < numalab_refused_call_count; i++) {
        const struct numalab_refused_call *call_refused = &numalab_refused_calls[i];
        if (call_refused->refusal == NUMALAB_REFUSED_TO_WORKERS && is_rank) continue;
        answer_if_equal(filter, (unsigned)call_refused->number, action_of(call_refused->refusal));
    }

    call = begin_call(filter, SYS_clone, CLONE_FLAGS_ARGUMENT);
    answer_if_clear(filter, CLONE_THREAD, SECCOMP_RET_TRAP);
    end_of_call(filter, call, SECCOMP_RET_ALLOW);

    /* No network is there; of other families some know no namespaces (AF_VSOCK). */
    call = begin_call(filter, SYS_socket, 0);
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++)
        answer_if_equal(filter, families[i], SECCOMP_RET_ALLOW);
    end_of_call(filter, call, SECCOMP_RET_ERRNO | EAFNOSUPPORT);

    /* A process that is not dumpable hides from the monitor; huge pages are the kit's choice. */
    call = begin_call(filter, SYS_prctl, 0);
    answer_if_equal(filter, PR_SET_DUMPABLE, SECCOMP_RET_ERRNO | EPERM);
    answer_if_equal(filter, PR_SET_THP_DISABLE, SECCOMP_RET_ERRNO | EPERM);
    end_of_call(filter, call, SECCOMP_RET_ALLOW);

    call = begin_call(filter, SYS_ioctl, 1);
    answer_if_equal(filter, TIOCSTI, SECCOMP_RET_ERRNO | EPERM);
    answer_if_equal(filter, TIOCLINUX, SECCOMP_RET_ERRNO | EPERM);
    end_of_call(filter, call, SECCOMP_RET_ALLOW);

    answer(filter, SECCOMP_RET_ALLOW);
}

static int install_filter(bool is_rank)
{
    struct filter filter = {.count = 0};
    make_filter(&filter, is_rank);
    if (filter.count >= MOST_INSTRUCTIONS) return -E2BIG;
    const struct sock_fprog program = {filter.count, filter.instruction};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
    /* Without the flag older kernels switch off speculation past stores, and times with it. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) < 0)
        return -errno;
    return 0;
}

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
    if ((error = install_filter(is_rank)) < 0) return complain("filter system calls", error);
    execl(argv[4], argv[4], (char *)NULL);
    complain("start the worker", -errno);
    return EXIT_NOT_FOUND;
}
