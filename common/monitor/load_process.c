#define _GNU_SOURCE
#include "load_process.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monitor/processes/worker_process.h"

enum { MASK_LONGS = 16, POLL_MS = 2 };

/* Linux's numbers (set_mempolicy(2)), which are part of its interface. */
enum { POLICY_DEFAULT = 0, POLICY_BIND = 2, POLICY_INTERLEAVE = 3 };

static const struct timespec pause_1_ms = {.tv_nsec = 1000 * 1000};

struct numalab_load_board {
    atomic_size_t requested;                 /* halves that are to be written */
    atomic_size_t done[NUMALAB_LOAD_HALVES]; /* threads that have written theirs */
    atomic_bool works_on;
    atomic_ullong worked; /* so that no work is left out */
};

/* Of one thread. */
struct part {
    const struct numalab_load_plan *plan;
    const struct numalab_load_process *load;
    size_t number, half;
};

/* ---- in the process ------------------------------------------------------------------- */

/* The member number index of a set, from the first one on again after its last. */
static int member(hwloc_const_bitmap_t set, size_t index)
{
    const int count = hwloc_bitmap_weight(set);
    int found = -1;
    for (size_t left = index % (size_t)(count > 0 ? count : 1) + 1; left > 0; left--)
        found = hwloc_bitmap_next(set, found);
    return found;
}

static void mask_of(hwloc_const_bitmap_t nodes, unsigned long mask[MASK_LONGS])
{
    for (unsigned i = 0; i < MASK_LONGS; i++) mask[i] = hwloc_bitmap_to_ith_ulong(nodes, i);
}

/* What the system refuses it does not get, and goes on. */
static void bind_part(const struct part *part, char *piece, size_t bytes)
{
    const int pu = member(part->plan->pus, part->number);
    const int numa_node = member(part->plan->numa_nodes, part->number);
    hwloc_bitmap_t one = hwloc_bitmap_alloc();
    cpu_set_t *set = CPU_ALLOC(pu + 1);
    if (one && set) {
        unsigned long mask[MASK_LONGS] = {0};
        CPU_ZERO_S(CPU_ALLOC_SIZE(pu + 1), set);
        CPU_SET_S(pu, CPU_ALLOC_SIZE(pu + 1), set);
        sched_setaffinity(0, CPU_ALLOC_SIZE(pu + 1), set);
        hwloc_bitmap_only(one, (unsigned)numa_node);
        mask_of(one, mask);
        syscall(SYS_mbind, piece, bytes, POLICY_BIND, mask, 8 * sizeof mask, 0);
    }
    if (set) CPU_FREE(set);
    hwloc_bitmap_free(one);
}

static void write_piece(const struct part *part, size_t half)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = part->plan->pages_of_thread * page_bytes;
    char *piece =
        (char *)(uintptr_t)numalab_load_process_half(part->load, half) + part->number * bytes;
    const bool is_spread = half == 0 && !part->plan->is_greedy;
    if (part->plan->is_greedy) bind_part(part, piece, bytes);
    if (is_spread) {
        unsigned long mask[MASK_LONGS] = {0};
        mask_of(part->plan->numa_nodes, mask);
        syscall(SYS_set_mempolicy, POLICY_INTERLEAVE, mask, 8 * sizeof mask);
    }
    for (size_t at = 0; at < bytes; at += page_bytes) piece[at] = (char)(half + 1);
    if (is_spread) syscall(SYS_set_mempolicy, POLICY_DEFAULT, NULL, 0);
}

/* Of one half. */
static void *work(void *argument)
{
    const struct part *part = argument;
    struct numalab_load_board *board = part->load->board;
    write_piece(part, part->half);
    atomic_fetch_add(&board->done[part->half], 1);
    if (part->half < NUMALAB_LOAD_HALVES - 1) return NULL;
    while (!atomic_load(&board->works_on)) nanosleep(&pause_1_ms, NULL);
    for (unsigned long long turns = 0;; turns++)
        if (turns % 1000000 == 0) atomic_fetch_add(&board->worked, 1);
}

/* The first thread is the process's own, and starts the others anew for each half: so where they
 * run afterwards is not where they have been before. It works, too: one that slept would tell of a
 * PU that it has left. */
static _Noreturn void run_load(const struct numalab_load_process *load,
                               const struct numalab_load_plan *plan)
{
    struct part *part = calloc(plan->thread_count, sizeof *part);
    pthread_t *thread = calloc(plan->thread_count, sizeof *thread);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    if (!part || !thread) _exit(1);
    for (size_t half = 0; half < NUMALAB_LOAD_HALVES; half++) {
        while (atomic_load(&load->board->requested) <= half) nanosleep(&pause_1_ms, NULL);
        for (size_t i = 0; i < plan->thread_count; i++) {
            part[i] = (struct part){plan, load, i, half};
            if (i > 0 && pthread_create(&thread[i], NULL, work, &part[i]) != 0) _exit(1);
        }
        work(&part[0]);
        for (size_t i = 1; i < plan->thread_count; i++) pthread_join(thread[i], NULL);
    }
    _exit(1);
}

/* ---- outside of it ---------------------------------------------------------------------- */

static void *map(size_t bytes, int flags)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

int numalab_load_process_start(struct numalab_load_process *load,
                               const struct numalab_load_plan *plan)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    *load = (struct numalab_load_process){.thread_count = plan->thread_count,
                                          .half_bytes = plan->thread_count * plan->pages_of_thread *
                                                        page_bytes};
    void *board = map(sizeof *load->board, MAP_SHARED);
    if (board == MAP_FAILED) return -errno;
    load->board = board;
    /* Mapped and not touched: the process gets pages of its own. */
    void *memory = map(NUMALAB_LOAD_HALVES * load->half_bytes, MAP_PRIVATE);
    if (memory == MAP_FAILED) return -errno;
    load->address = (uint64_t)(uintptr_t)memory;
    const pid_t pid = fork();
    if (pid < 0) return -errno;
    if (pid == 0) run_load(load, plan);
    load->pid = pid;
    return 0;
}

int numalab_load_process_write_half(struct numalab_load_process *load, double limit_s,
                                    int cancel_fd)
{
    const size_t half = atomic_fetch_add(&load->board->requested, 1);
    const double end_s = numalab_now_s() + limit_s;
    struct pollfd cancel = {.fd = cancel_fd, .events = POLLIN};
    while (atomic_load(&load->board->done[half]) < load->thread_count) {
        if (poll(&cancel, 1, POLL_MS) > 0) return -ECANCELED;
        if (waitpid(load->pid, NULL, WNOHANG) == load->pid) {
            load->pid = 0;
            return -ECHILD;
        }
        if (numalab_now_s() > end_s) return -ETIMEDOUT;
    }
    return 0;
}

void numalab_load_process_continue(struct numalab_load_process *load)
{
    atomic_store(&load->board->works_on, true);
}

uint64_t numalab_load_process_half(const struct numalab_load_process *load, size_t half)
{
    return load->address + half * load->half_bytes;
}

void numalab_load_process_end(struct numalab_load_process *load)
{
    if (load->pid > 0) {
        kill(load->pid, SIGKILL);
        waitpid(load->pid, NULL, 0);
    }
    if (load->address)
        munmap((void *)(uintptr_t)load->address, NUMALAB_LOAD_HALVES * load->half_bytes);
    if (load->board) munmap(load->board, sizeof *load->board);
    *load = (struct numalab_load_process){0};
}
