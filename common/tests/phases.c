/* A worker that does what students' kernels do by mistake, and a little worse. */
#define _GNU_SOURCE
#include "numalab/phases.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "protocol.h"

static void well_behaved_initialize(size_t n, void **arrays)
{
    double *x = arrays[0];
    for (size_t i = 0; i < n; i++) x[i] = (double)i;
}

static void well_behaved_compute(size_t n, void **arrays)
{
    double *x = arrays[0];
    for (size_t i = 0; i < n; i++) x[i] += 1.0;
}

static void write_past_end(size_t n, void **arrays)
{
    ((volatile double *)arrays[0])[n] = 1.0;
}

static void write_before_start(size_t n, void **arrays)
{
    (void)n;
    volatile double *x = arrays[0];
    x[-1] = 1.0;
}

static void leave(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    exit(7);
}

/* Says from now on that this system has no userfaultfd. */
static void refuse_userfaultfd(size_t n, void **arrays)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_userfaultfd, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
    (void)n;
    (void)arrays;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
        abort();
}

static void hang(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (;;) pause();
}

static void print_endlessly(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (;;) puts("still here");
}

/* Far beyond the limit, and no further: it may be a while before somebody looks. */
static void grow(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (int i = 0; i < 16; i++) {
        void *block =
            mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (block != MAP_FAILED) memset(block, 1, 16 << 20);
    }
    for (;;) pause();
}

/* A child that holds every descriptor open and outlives the worker. */
static void leave_child(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    if (fork() == 0)
        for (;;) pause();
    _exit(0);
}

static void forge_reply(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    static const char reply[600];
    if (write(3, reply, sizeof reply) < 0) abort();
    for (;;) pause();
}

/* Says it is done before it is: of the right size, with another ticket. */
static void forge_ticket(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const struct numalab_message reply = {.kind = NUMALAB_REPLY, .ticket = 99};
    if (write(NUMALAB_CHANNEL_FD, &reply, sizeof reply) < 0) abort();
    for (;;) pause();
}

/* An error that no errno can be; the third request of a test's worker is this phase. */
static void forge_error(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const struct numalab_message reply = {.kind = NUMALAB_REPLY, .ticket = 2, .error = 5};
    if (write(NUMALAB_CHANNEL_FD, &reply, sizeof reply) < 0) abort();
    for (;;) pause();
}

/* The right ticket, and a step of the kit's that is said to have failed. */
static void forge_refusal(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const struct numalab_message reply = {.kind = NUMALAB_REPLY, .ticket = 2, .error = -ENOMEM};
    if (write(NUMALAB_CHANNEL_FD, &reply, sizeof reply) < 0) abort();
    for (;;) pause();
}

static void close_channel(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    close(NUMALAB_CHANNEL_FD);
}

/* From who looks at its memory without a privilege. */
static void hide(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0) abort();
}

static void use_up_files(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const struct rlimit few = {4, 4};
    if (setrlimit(RLIMIT_NOFILE, &few) < 0) abort();
}

static void *leave_in_a_while(void *unused)
{
    (void)unused;
    usleep(100000);
    _exit(7);
}

/* Ends when it has answered. */
static void leave_soon(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave_in_a_while, NULL) != 0) abort();
}

static void *crash_in_a_while(void *unused)
{
    (void)unused;
    usleep(100000);
    if (send(3, NULL, 0, 0) < 0) abort();
    raise(SIGFPE);
    return NULL;
}

/* Crashes when it has answered, and says nothing before, in a message. */
static void crash_soon(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    pthread_t thread;
    if (pthread_create(&thread, NULL, crash_in_a_while, NULL) != 0) abort();
}

/* 256 MiB in a memory file that is mapped nowhere. */
static void hold(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const int file = memfd_create("held", 0);
    if (file < 0 || fallocate(file, 0, 0, (off_t)256 << 20) < 0) abort();
    for (;;) pause();
}

static void overrun_stack(size_t n, void **arrays)
{
    volatile char room[65536];
    room[0] = room[sizeof room - 1] = 1;
    if (n > 0) overrun_stack(n + (size_t)room[0], arrays); /* never ends */
    room[1] = room[0];
}

static void divide_by_zero(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    raise(SIGFPE);
}

static void give_up(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    abort();
}

/* Exits with 0 if a terabyte of address space is refused. */
static void ask_absurdly(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    void *block =
        mmap(NULL, (size_t)1 << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    _exit(block == MAP_FAILED ? 0 : 1);
}

/* Exits with 0 if transparent huge pages are switched off for the process. */
static void detect_huge_pages(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    _exit(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1 ? 0 : 1);
}

/* Exits with 0 if those that it asks for are left to it, and no others; with 1 if the system's mode
 * is what it has. */
static void detect_advised_pages(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    _exit(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 3 ? 0 : 1);
}

static void *spin_endlessly(void *unused)
{
    (void)unused;
    for (volatile size_t i = 0;; i++) continue;
    return NULL;
}

/* More threads than any team of a test has. */
static void spin_on_many(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    pthread_t other;
    for (int i = 1; i < 4; i++)
        if (pthread_create(&other, NULL, spin_endlessly, NULL) != 0) abort();
    spin_endlessly(NULL);
}

static void stop_itself(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    for (;;) raise(SIGSTOP);
}

/* Has a process of its own stop and continue the monitor again and again, and sleeps. */
static void stop_monitor(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const pid_t monitor = getppid();
    if (fork() == 0)
        for (;;) {
            kill(monitor, SIGSTOP);
            usleep(300000);
            kill(monitor, SIGCONT);
            usleep(10000);
        }
    for (;;) pause();
}

/* Puts a file of its own in the place of all pages of the first array but the first; step: from one
 * page to the next in the file, 0: all are the same. */
static void replace(size_t n, void **arrays, size_t step)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    char *start = (char *)((uintptr_t)arrays[0] / page_bytes * page_bytes + page_bytes);
    const size_t pages = n * sizeof(double) / page_bytes - 1;
    const int file = memfd_create("other", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, (off_t)((1 + pages * step) * page_bytes)) < 0) abort();
    for (size_t i = 0; i < pages; i++)
        if (mmap(start + i * page_bytes, page_bytes, PROT_READ | PROT_WRITE,
                 MAP_FIXED | MAP_PRIVATE, file, (off_t)(i * step * page_bytes)) == MAP_FAILED)
            abort();
    close(file);
}

static void alias(size_t n, void **arrays)
{
    replace(n, arrays, 0);
}

static void replace_all(size_t n, void **arrays)
{
    replace(n, arrays, 1);
}

static void spin(size_t n, void **arrays)
{
    (void)n;
    (void)arrays;
    const clock_t start = clock();
    while (clock() - start < CLOCKS_PER_SEC / 20) continue;
}

/* ---- as its role's environment has it ------------------------------------------- */

static void sleep_for(const char *variable)
{
    const char *text = getenv(variable);
    const long ms = text ? strtol(text, NULL, 10) : 0;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static volatile sig_atomic_t is_computing, times_woken;
static timer_t waking_timer;
static const struct itimerspec waking_times = {.it_value = {.tv_nsec = 30000000}};

/* Works while others are timed, and stands still again before anybody looks. */
static void work_when_woken(int number)
{
    static const double piece_s = 0.01;
    enum { MOST_TIMES = 3 };
    struct timespec begin, now;
    (void)number;
    timer_settime(waking_timer, 0, &waking_times, NULL);
    /* The monitor's own signal comes by here, too, before anything is computed. */
    if (is_computing || ++times_woken > MOST_TIMES) return;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((double)(now.tv_sec - begin.tv_sec) + 1e-9 * (double)(now.tv_nsec - begin.tv_nsec) <
             piece_s);
    timer_settime(waking_timer, 0, &waking_times, NULL); /* where nobody else has stopped it */
    kill(getpid(), SIGSTOP);
}

static void wake_by_timer(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGCONT};
    signal(SIGCONT, work_when_woken);
    if (timer_create(CLOCK_MONOTONIC, &event, &waking_timer) < 0 ||
        timer_settime(waking_timer, 0, &waking_times, NULL) < 0)
        abort();
}

/* is_orphan: its parent has ended. */
static void leave_process(bool is_orphan)
{
    const pid_t worker = getpid(), child = fork();
    if (child != 0) {
        if (is_orphan) waitpid(child, NULL, 0);
        return;
    }
    if (is_orphan && fork() != 0) _exit(0);
    while (kill(worker, 0) == 0) usleep(10000);
    _exit(0);
}

/* DISTURBS: in which way; see below. */
static void disturb(void)
{
    const char *how = getenv("DISTURBS");
    if (!how) return;
    if (strcmp(how, "wakes") == 0) wake_by_timer();
    if (strcmp(how, "child") == 0) leave_process(false);
    if (strcmp(how, "orphan") == 0) leave_process(true);
}

static volatile unsigned long computes;

/* Appends to the file that SEEN names when it first saw inputs or results change behind so many
 * compute phases, and that number: CLOCK_MONOTONIC, seconds. */
static void *watch(void *inputs)
{
    enum { WATCHED = 100000 };
    static double before[WATCHED];
    const int file = open(getenv("SEEN"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    for (;;) {
        struct timespec now;
        const unsigned long done = computes;
        memcpy(before, inputs, sizeof before);
        while (memcmp(before, inputs, sizeof before) == 0) __atomic_thread_fence(__ATOMIC_SEQ_CST);
        clock_gettime(CLOCK_MONOTONIC, &now);
        const double seen[] = {(double)done, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec};
        if (write(file, seen, sizeof seen) != (ssize_t)sizeof seen) abort();
        while (computes == done) continue;
    }
    return NULL;
}

static void initialize_by_variable(size_t n, void **arrays)
{
    sleep_for("INITIALIZE_MS");
    well_behaved_initialize(n, arrays);
    disturb();
    pthread_t watching;
    if (getenv("SEEN") && pthread_create(&watching, NULL, watch, arrays[0]) != 0) abort();
}

/* STOPS_MONITOR: in how many repetitions, behind one to warm up. */
static void stop_by_variable(void)
{
    static int calls;
    const char *count = getenv("STOPS_MONITOR");
    if (!count || calls++ == 0 || calls > 1 + atoi(count)) return;
    kill(getppid(), SIGSTOP);
    usleep(400000);
    kill(getppid(), SIGCONT);
}

/* EXITS_AT: in which call, the one to warm up being 0. */
static void exit_by_variable(void)
{
    static long calls;
    const char *at = getenv("EXITS_AT");
    if (at && calls++ == strtol(at, NULL, 10)) _exit(7);
}

/* LEFT_OUT: an element that is not computed. */
static void compute_by_variable(size_t n, void **arrays)
{
    double *x = arrays[0];
    const char *left_out = getenv("LEFT_OUT");
    is_computing = 1;
    times_woken = 0;
    sleep_for("COMPUTE_MS");
    stop_by_variable();
    exit_by_variable();
    well_behaved_compute(n, arrays);
    is_computing = 0;
    if (left_out) x[strtoul(left_out, NULL, 10)] -= 1.0;
    computes++;
}

/* ---- pages touched by two threads in known ways --------------------------------- */

struct part {
    double *x;
    size_t first, end, step;
    bool is_read;
};

static void *touch(void *argument)
{
    const struct part *part = argument;
    volatile double *x = part->x;
    for (size_t i = part->first; i < part->end; i += part->step) {
        if (part->is_read)
            (void)x[i];
        else
            x[i] = (double)i;
    }
    return NULL;
}

/* Two threads that live on, so that they can be told apart afterwards. */
static void run_on_two_threads(struct part main_part, struct part other_part)
{
    pthread_t other;
    if (pthread_create(&other, NULL, touch, &other_part) != 0) abort();
    touch(&main_part);
    pthread_join(other, NULL);
}

static void halves(size_t n, void **arrays)
{
    double *x = arrays[0];
    run_on_two_threads((struct part){x, 0, n / 2, 1, false}, (struct part){x, n / 2, n, 1, false});
}

/* Both threads write to every page, neighbouring elements in turn. */
static void interleaved(size_t n, void **arrays)
{
    double *x = arrays[0];
    run_on_two_threads((struct part){x, 0, n, 2, false}, (struct part){x, 1, n, 2, false});
}

/* The other thread reads everything before the main thread writes it. */
static void read_then_write(size_t n, void **arrays)
{
    double *x = arrays[0];
    run_on_two_threads((struct part){x, 0, 0, 1, true}, (struct part){x, 0, n, 1, true});
    touch(&(struct part){x, 0, n, 1, false});
}

/* Each thread touches an element of each page of its half; then the main thread works on all. */
static void touch_then_work(size_t n, void **arrays)
{
    double *x = arrays[0];
    const size_t page = (size_t)sysconf(_SC_PAGESIZE) / sizeof *x;
    run_on_two_threads((struct part){x, 0, n / 2, page, true},
                       (struct part){x, n / 2, n, page, true});
    touch(&(struct part){x, 0, n, 1, false});
}

/* Works by a second mapping of the array's pages, which no page fault tells of. */
static void work_by_alias(size_t n, void **arrays)
{
    double *x = arrays[0];
    double *alias = mremap(x, 0, n * sizeof *x, MREMAP_MAYMOVE);
    if (alias == MAP_FAILED) abort();
    for (size_t i = 0; i < n; i++) alias[i] += 1.0;
}

/* The same page of shared memory at two addresses. */
static void attach_twice(size_t n, void **arrays)
{
    const int segment = shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
    (void)n;
    (void)arrays;
    if (shmat(segment, NULL, 0) == (void *)-1 || shmat(segment, NULL, 0) == (void *)-1) abort();
    shmctl(segment, IPC_RMID, NULL);
}

/* Writes by the system's hand: through the file of its own memory, which may be refused, ... */
static void write_by_file(size_t n, void **arrays)
{
    const double value = -1.0;
    const int memory = open("/proc/self/mem", O_WRONLY);
    (void)n;
    if (memory >= 0 && pwrite(memory, &value, sizeof value, (off_t)(uintptr_t)arrays[0]) < 0)
        abort();
    if (memory >= 0) close(memory);
}

/* ... and by a call that takes any address. */
static void write_by_call(size_t n, void **arrays)
{
    double value = -2.0;
    const struct iovec from = {&value, sizeof value}, to = {arrays[0], sizeof value};
    (void)n;
    if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) < 0) abort();
}

const struct numalab_phase numalab_phases[] = {
    {"initialize", well_behaved_initialize},
    {"compute", well_behaved_compute},
    {"alias", alias},
    {"replace_all", replace_all},
    {"past_end", write_past_end},
    {"before_start", write_before_start},
    {"leave", leave},
    {"refuse_userfaultfd", refuse_userfaultfd},
    {"hang", hang},
    {"print_endlessly", print_endlessly},
    {"grow", grow},
    {"leave_child", leave_child},
    {"forge_reply", forge_reply},
    {"forge_ticket", forge_ticket},
    {"forge_error", forge_error},
    {"forge_refusal", forge_refusal},
    {"close_channel", close_channel},
    {"hide", hide},
    {"use_up_files", use_up_files},
    {"leave_soon", leave_soon},
    {"crash_soon", crash_soon},
    {"hold", hold},
    {"overrun_stack", overrun_stack},
    {"divide_by_zero", divide_by_zero},
    {"give_up", give_up},
    {"ask_absurdly", ask_absurdly},
    {"look_for_huge_pages", detect_huge_pages},
    {"look_for_advised_pages", detect_advised_pages},
    {"spin", spin},
    {"initialize_as_told", initialize_by_variable},
    {"compute_as_told", compute_by_variable},
    {"spin_on_many", spin_on_many},
    {"stop_itself", stop_itself},
    {"stop_monitor", stop_monitor},
    {"halves", halves},
    {"interleaved", interleaved},
    {"read_then_write", read_then_write},
    {"touch_then_work", touch_then_work},
    {"work_by_alias", work_by_alias},
    {"attach_twice", attach_twice},
    {"write_by_file", write_by_file},
    {"write_by_call", write_by_call},
    {NULL, NULL},
};
