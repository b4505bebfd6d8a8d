#define _GNU_SOURCE
#include "fault_report.h"

#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <ucontext.h>
#include <unistd.h>

#include "protocol.h"
#include "fault_trap.h"

/* A signal handler gets no argument of ours, so these are the one exception
 * to passing state: set once, before any handler can run. */
static struct numalab_trap *the_trap;
static int the_channel;
static struct {
    uintptr_t base, first, end;
} program;

struct numalab_overrun numalab_find_overrun(void) __attribute__((weak));

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};

static int note_program(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    program.base = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *header = &info->dlpi_phdr[i];
        if (header->p_type != PT_LOAD || !(header->p_flags & PF_X)) continue;
        program.first = info->dlpi_addr + header->p_vaddr;
        program.end = program.first + header->p_memsz;
    }
    return 1; /* the program itself comes first */
}

/* 1: the access was a write, 0: a read, -1: this processor does not say. */
static int access_is_write(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (context->uc_mcontext.gregs[REG_ERR] & 2) != 0;
#else
    (void)context;
    return -1;
#endif
}

static uintptr_t instruction(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
    (void)context;
    return 0;
#endif
}

/* 1 at an instruction that no program means to execute, which compilers put where they have found
 * that what comes is undefined: a division by zero that is certain, a null pointer. */
static int is_trap(uintptr_t address)
{
#if defined(__x86_64__)
    static const unsigned char ud2[] = {0x0f, 0x0b};
    return address >= program.first && address + sizeof ud2 <= program.end &&
           memcmp((const void *)address, ud2, sizeof ud2) == 0;
#elif defined(__aarch64__)
    static const unsigned char udf[] = {0x00, 0x00, 0x00}; /* with any number in its low byte */
    return address >= program.first && address + 4 <= program.end &&
           memcmp((const unsigned char *)address + 1, udf, sizeof udf) == 0;
#else
    (void)address;
    return 0;
#endif
}

uint64_t numalab_program_offset(uintptr_t address)
{
    return address >= program.first && address < program.end ? address - program.base : 0;
}

static void add_frame(struct numalab_message *report, uintptr_t address)
{
    const uint64_t offset = numalab_program_offset(address);
    if (offset && report->frame_count < NUMALAB_MAX_FRAMES)
        report->frame[report->frame_count++] = offset;
}

static void report_crash(int signal_number, siginfo_t *info, void *context_pointer)
{
    const ucontext_t *context = context_pointer;
    const int is_write = access_is_write(context);

    if (signal_number == SIGSEGV && numalab_trap_handle(the_trap, info->si_addr, is_write)) return;

    /* A general protection fault (a misaligned vector access, an address that can't
     * exist) comes without an address. */
    const bool has_address = info->si_code > 0 && info->si_code != SI_KERNEL &&
                             (signal_number == SIGSEGV || signal_number == SIGBUS);
    struct numalab_message report = {
        .kind = NUMALAB_FAULT,
        .signal_number = signal_number,
        .fault_is_write = has_address && signal_number == SIGSEGV ? is_write : -1,
        .fault_has_address = has_address,
        .fault_address = (uint64_t)(uintptr_t)info->si_addr,
        .system_call = signal_number == SIGSYS ? info->si_syscall : 0,
        .is_trap = signal_number == SIGILL && is_trap(instruction(context)),
    };
    add_frame(&report, instruction(context));
    if (numalab_find_overrun) report.overrun = numalab_find_overrun();
    /* backtrace is not promised to be safe here; the process is dying and the
     * monitor has a deadline, so the worst case is a report that is missing. */
    void *callers[NUMALAB_MAX_FRAMES + 4];
    int count = backtrace(callers, NUMALAB_MAX_FRAMES + 4);
    for (int i = 0; i < count; i++) add_frame(&report, (uintptr_t)callers[i] - 1);
    send(the_channel, &report, sizeof report, MSG_NOSIGNAL);

    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

int numalab_fault_report_install(int channel, struct numalab_trap *trap)
{
    the_trap = trap;
    the_channel = channel;
    dl_iterate_phdr(note_program, NULL);
    void *unused[1];
    backtrace(unused, 1); /* loads the unwinder now, not inside the handler */

    /* An overrun of the main thread's stack needs another one to report on. */
    enum { STACK_BYTES = 256 << 10 };
    stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    if (!stack.ss_sp) return -ENOMEM;
    if (sigaltstack(&stack, NULL) < 0) return -errno;

    struct sigaction action = {.sa_sigaction = report_crash,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof crash_signals / sizeof crash_signals[0]; i++)
        if (sigaction(crash_signals[i], &action, NULL) < 0) return -errno;
    return 0;
}
