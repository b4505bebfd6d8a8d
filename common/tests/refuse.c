/* refuse CALL:ERRNO,... -- COMMAND...: becomes COMMAND under a filter that answers system calls
 * with an error, as kernels without them, containers and sites do. Stands in for those in tests;
 * nothing of the kit needs it. Ends with 125 where there is no filter, with 127 where there is no
 * COMMAND.
 *
 * What a filter can't show: a refusal that depends on a path (a missing /dev/kvm), on who asks
 * (capabilities), or comes later than the call (AppArmor, which lets a user namespace be made and
 * then takes the rights inside). */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

enum { EXIT_NO_FILTER = 125, EXIT_NO_COMMAND = 127, MOST_INSTRUCTIONS = 1024 };

/* Which calls are meant: all of that number, or by one of their arguments. */
enum when {
    ALWAYS,
    ANY_OF_BITS, /* one of the bits is set in it */
    TYPE_ONLY,   /* an ioctl request of that type: bits 8 to 15 */
    UNUSUAL      /* a personality that no container's profile lists */
};

struct rule {
    const char *name;
    long number;
    enum when when;
    unsigned argument;
    uint32_t value;
};

/* Those of all new namespaces but that of time, which clone can't make. */
static const uint32_t all_namespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                       CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

#define CALL(call) {#call, SYS_##call, ALWAYS, 0, 0}

static const struct rule rules[] = {
    CALL(userfaultfd),
    CALL(move_pages),
    CALL(migrate_pages),
    CALL(mbind),
    CALL(get_mempolicy),
    CALL(set_mempolicy),
    CALL(set_mempolicy_home_node),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(ptrace),
    CALL(kcmp),
    CALL(pidfd_open),
    CALL(pidfd_send_signal),
    CALL(pidfd_getfd),
    CALL(process_madvise),
    CALL(perf_event_open),
    CALL(bpf),
    CALL(io_uring_setup),
    CALL(sched_setaffinity),
    CALL(memfd_create),
    CALL(add_key),
    CALL(keyctl),
    CALL(clone3),
    CALL(unshare),
    CALL(setns),
    CALL(mount),
    CALL(pivot_root),
    CALL(chroot),
    CALL(personality),
    {"clone_namespaces", SYS_clone, ANY_OF_BITS, 0, all_namespaces},
    {"clone_user_namespace", SYS_clone, ANY_OF_BITS, 0, CLONE_NEWUSER},
    {"unshare_user_namespace", SYS_unshare, ANY_OF_BITS, 0, CLONE_NEWUSER},
    {"kvm", SYS_ioctl, TYPE_ONLY, 1, 0xae00},
    {"unusual_personality", SYS_personality, UNUSUAL, 0, 0},
};
enum { RULES = sizeof rules / sizeof rules[0] };

/* PER_LINUX, PER_LINUX32, both with UNAME26, and the question which it is. */
static const uint32_t usual_personalities[] = {0, 8, 0x20000, 0x20008, 0xffffffff};

static const struct {
    const char *name;
    int number;
} errors[] = {{"EPERM", EPERM}, {"ENOSYS", ENOSYS}, {"EACCES", EACCES}, {"EINVAL", EINVAL}};
enum { ERRORS = sizeof errors / sizeof errors[0] };

struct program {
    struct sock_filter instruction[MOST_INSTRUCTIONS];
    unsigned short count;
};

static void add(struct program *program, struct sock_filter instruction)
{
    if (program->count < MOST_INSTRUCTIONS) program->instruction[program->count++] = instruction;
}

static void load(struct program *program, size_t offset)
{
    add(program, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset));
}

/* The lower half of an argument: all that is looked at has 32 bits, on machines that store the
 * lower half first. */
static void load_argument(struct program *program, unsigned argument)
{
    load(program, offsetof(struct seccomp_data, args) + argument * sizeof(uint64_t));
}

static void add_rule(struct program *program, const struct rule *rule, int error)
{
    enum { USUAL = sizeof usual_personalities / sizeof usual_personalities[0] };
    const struct sock_filter refuse =
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ((uint32_t)error & SECCOMP_RET_DATA));
    /* Instructions between the comparison of the number and what follows the rule. */
    static const uint8_t length[] = {
        [ALWAYS] = 1, [ANY_OF_BITS] = 3, [TYPE_ONLY] = 4, [UNUSUAL] = 2 + USUAL};
    load(program, offsetof(struct seccomp_data, nr));
    add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->number, 0,
                                              length[rule->when]));
    if (rule->when != ALWAYS) load_argument(program, rule->argument);
    if (rule->when == ANY_OF_BITS)
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, rule->value, 0, 1));
    if (rule->when == TYPE_ONLY) {
        add(program, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xff00));
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, rule->value, 0, 1));
    }
    for (size_t i = 0; rule->when == UNUSUAL && i < USUAL; i++)
        add(program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, usual_personalities[i],
                                                  (uint8_t)(USUAL - i), 0));
    add(program, refuse);
}

/* Of a word such as mbind:EPERM. Returns 0, or -1 with what is wrong said. */
static int add_word(struct program *program, char *word)
{
    char *colon = strchr(word, ':');
    const struct rule *rule = NULL;
    int error = 0;
    if (colon) *colon = '\0';
    for (size_t i = 0; i < RULES; i++)
        if (strcmp(rules[i].name, word) == 0) rule = &rules[i];
    for (size_t i = 0; colon && i < ERRORS; i++)
        if (strcmp(errors[i].name, colon + 1) == 0) error = errors[i].number;
    if (rule && error) {
        add_rule(program, rule, error);
        return 0;
    }
    fprintf(stderr, "refuse: no rule '%s' with error '%s'; the rules are:", word,
            colon ? colon + 1 : "");
    for (size_t i = 0; i < RULES; i++) fprintf(stderr, " %s", rules[i].name);
    fputs("; the errors EPERM, ENOSYS, EACCES, EINVAL\n", stderr);
    return -1;
}

static int install(struct program *program)
{
    const struct sock_fprog filter = {program->count, program->instruction};
    if (program->count == MOST_INSTRUCTIONS) {
        errno = E2BIG;
        return -1;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -1;
    /* Without the flag, kernels before 5.16 make everything under a filter slower. */
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW,
                        &filter);
}

int main(int argument_count, char **arguments)
{
    static struct program program;
    if (argument_count < 4 || strcmp(arguments[2], "--") != 0) {
        fputs("usage: refuse CALL:ERRNO,... -- COMMAND [ARGUMENT...]\n", stderr);
        return EXIT_NO_FILTER;
    }
    load(&program, offsetof(struct seccomp_data, arch));
    add(&program, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0));
    add(&program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    for (char *word = strtok(arguments[1], ","); word; word = strtok(NULL, ","))
        if (add_word(&program, word) < 0) return EXIT_NO_FILTER;
    add(&program, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    if (install(&program) < 0) {
        perror("refuse: can't install the filter");
        return EXIT_NO_FILTER;
    }
    execvp(arguments[3], arguments + 3);
    perror(arguments[3]);
    return EXIT_NO_COMMAND;
}
