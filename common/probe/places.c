#define _GNU_SOURCE
#include "places.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_PUS = 8192, MOST_NODES = 1024, BITS = 8 * sizeof(unsigned long) };

static int bind_to(int pu)
{
    cpu_set_t *set = CPU_ALLOC(MOST_PUS);
    if (!set) return -ENOMEM;
    const size_t set_bytes = CPU_ALLOC_SIZE(MOST_PUS);
    CPU_ZERO_S(set_bytes, set);
    CPU_SET_S((size_t)pu, set_bytes, set);
    const int error = sched_setaffinity(0, set_bytes, set) ? -errno : 0;
    CPU_FREE(set);
    return error;
}

int probe_bind_thread(const struct probe_task *task)
{
    return task->pu_count > 0 ? bind_to(task->pus[0]) : 0;
}

int probe_bind_team(const struct probe_task *task)
{
    if (task->pu_count == 0) return 0;
    omp_set_dynamic(0);
    omp_set_num_threads(task->pu_count);
    int worst = 0;
#pragma omp parallel reduction(min : worst)
    worst = bind_to(task->pus[omp_get_thread_num()]);
    return worst;
}

int probe_prefer_node(const struct probe_memory *memory, int numa_node)
{
    if (numa_node == PROBE_ANY_NODE) return 0;
    unsigned long mask[MOST_NODES / BITS] = {0};
    mask[(size_t)numa_node / BITS] = 1ul << ((size_t)numa_node % BITS);
    /* Preferred, not bound: of a node that is full a bound process is killed. The kernel takes one
     * bit less than it is told that there are. */
    if (!syscall(SYS_mbind, memory->start, memory->mapped_bytes, MPOL_PREFERRED, mask,
                 MOST_NODES + 1, 0))
        return 0;
    return errno == EPERM || errno == ENOSYS ? 0 : -errno;
}

bool probe_count_pages(const void *first, const void *limit, int numa_node, size_t *pages,
                       size_t *local_pages)
{
    enum { BATCH = 512 };
    const uintptr_t page_bytes = probe_page_bytes();
    uintptr_t at = ((uintptr_t)first + page_bytes - 1) / page_bytes * page_bytes;
    const uintptr_t end = (uintptr_t)limit / page_bytes * page_bytes;
    while (at < end) {
        void *asked[BATCH];
        int nodes[BATCH];
        size_t count = 0;
        for (; at < end && count < BATCH; at += page_bytes) asked[count++] = (void *)at;
        if (syscall(SYS_move_pages, 0, count, asked, NULL, nodes, 0)) return false;
        *pages += count;
        for (size_t i = 0; i < count; i++) *local_pages += nodes[i] == numa_node;
    }
    return true;
}

double probe_share_on_node(const struct probe_memory *memory, size_t count, int numa_node)
{
    size_t pages = 0, local_pages = 0;
    bool is_told = numa_node != PROBE_ANY_NODE;
    for (size_t i = 0; i < count && is_told; i++) {
        const char *const start = memory[i].start;
        is_told =
            probe_count_pages(start, start + memory[i].bytes, numa_node, &pages, &local_pages);
    }
    return is_told && pages > 0 ? (double)local_pages / (double)pages : NAN;
}
