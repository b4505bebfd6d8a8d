/* Prints what virtual nodes depend on in this host, as JSON: the rate of its time stamp
 * counter, and whether KVM runs code at a speed worth having.
 *
 * A /dev/kvm that can be opened proves little: nested in another virtual machine it may be
 * slower than emulation. So a guest of one processor runs a loop over memory in protected
 * mode, against a deadline, and the same loop runs here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/kvm.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { GUEST_BYTES = 16 * 1024 * 1024, CODE_AT = 0x1000, FIRST_ADDRESS = 0x100000, ROUNDS = 64 };

/* Emulation takes 5 to 20 times as long as this loop does natively; KVM the same time,
 * and once the host's page faults. */
static const double WORST_RATIO = 5, DEADLINE_S = 1;

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static uint64_t counter(void)
{
    uint32_t low, high;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

/* The rate of the time stamp counter in kHz, over 50 ms. */
static uint64_t measure_tsc_khz(void)
{
    const struct timespec pause_50_ms = {0, 50 * 1000 * 1000};
    double start_s = now_s();
    uint64_t start = counter();
    nanosleep(&pause_50_ms, NULL);
    uint64_t ticks = counter() - start;
    return (uint64_t)((double)ticks / (now_s() - start_s) / 1e3);
}

/* mov ecx, ROUNDS; again: mov eax, FIRST_ADDRESS; step: add dword [eax], 1; add eax, 64;
 * cmp eax, GUEST_BYTES; jb step; dec ecx; jnz again; out 0x10, al; hlt */
static const uint8_t CODE[] = {0xb9, ROUNDS, 0,    0,    0,    0xb8, 0,    0,    0x10, 0,
                               0x83, 0,      1,    0x83, 0xc0, 0x40, 0x3d, 0,    0,    0,
                               1,    0x72,   0xf3, 0x49, 0x75, 0xeb, 0xe6, 0x10, 0xf4};

/* The same loop in this process. */
static double native_s(volatile uint8_t *memory)
{
    double start_s = now_s();
    for (int round = 0; round < ROUNDS; round++)
        for (size_t at = FIRST_ADDRESS; at < GUEST_BYTES; at += 64)
            (*(volatile uint32_t *)(memory + at))++;
    return now_s() - start_s;
}

static int flat_protected_mode(int processor)
{
    struct kvm_sregs special;
    if (ioctl(processor, KVM_GET_SREGS, &special) < 0) return -errno;
    struct kvm_segment code = {.base = 0,
                               .limit = 0xffffffff,
                               .selector = 8,
                               .type = 11,
                               .present = 1,
                               .db = 1,
                               .s = 1,
                               .g = 1};
    struct kvm_segment data = code;
    data.type = 3;
    data.selector = 16;
    special.cs = code;
    special.ds = special.es = special.fs = special.gs = special.ss = data;
    special.cr0 |= 1;
    if (ioctl(processor, KVM_SET_SREGS, &special) < 0) return -errno;
    struct kvm_regs registers = {.rip = CODE_AT, .rflags = 2};
    return ioctl(processor, KVM_SET_REGS, &registers) < 0 ? -errno : 0;
}

static void interrupt_only(int number)
{
    (void)number;
}

/* Runs the loop in a guest. Returns 0 and *spent_s, or a negative errno: -ETIME beyond the
 * deadline. *step says what was done last. */
static int guest_s(double *spent_s, const char **step)
{
    *step = "opening /dev/kvm";
    int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    if (kvm < 0) return -errno;
    *step = "making a virtual machine";
    int machine = ioctl(kvm, KVM_CREATE_VM, 0ul);
    int run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0ul);
    if (machine < 0 || run_bytes < 0) return -errno;
    uint8_t *memory =
        mmap(NULL, GUEST_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return -errno;
    memcpy(memory + CODE_AT, CODE, sizeof CODE);
    struct kvm_userspace_memory_region region = {.memory_size = GUEST_BYTES,
                                                 .userspace_addr = (uintptr_t)memory};
    if (ioctl(machine, KVM_SET_USER_MEMORY_REGION, &region) < 0) return -errno;
    *step = "making a virtual processor";
    int processor = ioctl(machine, KVM_CREATE_VCPU, 0ul);
    if (processor < 0) return -errno;
    struct kvm_run *run =
        mmap(NULL, (size_t)run_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, processor, 0);
    if (run == MAP_FAILED) return -errno;
    int error = flat_protected_mode(processor);
    if (error < 0) return error;
    *step = "running code";

    struct sigaction action = {.sa_handler = interrupt_only};
    sigaction(SIGALRM, &action, NULL);
    timer_t timer;
    /* Again and again, in case the first comes before the guest runs. */
    struct itimerspec deadline = {.it_value = {(time_t)DEADLINE_S, 0},
                                  .it_interval = {0, 100 * 1000 * 1000}};
    if (timer_create(CLOCK_MONOTONIC, NULL, &timer) < 0 ||
        timer_settime(timer, 0, &deadline, NULL) < 0)
        return -errno;
    double start_s = now_s();
    int result = ioctl(processor, KVM_RUN, 0ul);
    *spent_s = now_s() - start_s;
    if (result < 0) return errno == EINTR ? -ETIME : -errno;
    return run->exit_reason == KVM_EXIT_IO ? 0 : -EPROTO;
}

int main(void)
{
    uint64_t tsc_khz = measure_tsc_khz();
    double spent_s = 0;
    const char *step = "";
    char why[256];
    int error = guest_s(&spent_s, &step);
    if (error == 0) {
        uint8_t *memory = malloc(GUEST_BYTES);
        if (!memory) return EXIT_FAILURE;
        native_s(memory); /* its page faults */
        double own_s = native_s(memory);
        free(memory);
        if (spent_s > WORST_RATIO * own_s + 0.1) error = -ETIME;
        snprintf(why, sizeof why, "a loop took %.3f s in it and %.3f s outside", spent_s, own_s);
    } else if (error == -ETIME) {
        snprintf(why, sizeof why, "a loop did not end in it within %g s", DEADLINE_S);
    } else {
        snprintf(why, sizeof why, "%s: %s", step, strerror(-error));
    }
    printf("{\"tsc_khz\": %llu, \"kvm\": %s, \"why\": \"%s\"}\n", (unsigned long long)tsc_khz,
           error == 0 ? "true" : "false", why);
    return EXIT_SUCCESS;
}
