#define _GNU_SOURCE
#include "fault_trap.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int numalab_trap_arm(struct numalab_trap *trap, const struct numalab_arrays *arrays,
                     bool traps_writes)
{
    trap->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    trap->writes_only = traps_writes;
    trap->arrays = arrays;

    size_t pages = 0;
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        pages += arrays->pages_bytes[i] / trap->page_bytes;
    size_t capacity = NUMALAB_TRAP_LOG_ENTRIES(pages);
    if (capacity > trap->log_capacity) {
        void *log = mmap(NULL, capacity * sizeof *trap->log, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (log == MAP_FAILED) return -errno;
        if (trap->log) munmap(trap->log, trap->log_capacity * sizeof *trap->log);
        trap->log = log;
        trap->log_capacity = capacity;
    }
    atomic_store(&trap->log_count, 0);
    atomic_store(&trap->armed, true);
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        if (arrays->pages[i] && mprotect(arrays->pages[i], arrays->pages_bytes[i], PROT_NONE) < 0)
            return -errno;
    return 0;
}

size_t numalab_trap_disarm(struct numalab_trap *trap, const struct numalab_arrays *arrays)
{
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++)
        if (arrays->pages[i])
            mprotect(arrays->pages[i], arrays->pages_bytes[i], PROT_READ | PROT_WRITE);
    atomic_store(&trap->armed, false);
    size_t count = atomic_load(&trap->log_count);
    return count < trap->log_capacity ? count : trap->log_capacity;
}

/* On how many PUs this thread may run; 0: not known. */
static int count_allowed(void)
{
    enum { MOST_PUS = 1 << 13 };
    unsigned long set[MOST_PUS / (8 * sizeof(unsigned long))];
    const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof set, set);
    int count = 0;
    for (long i = 0; i < bytes / (long)sizeof *set; i++) count += __builtin_popcountl(set[i]);
    return count;
}

bool numalab_trap_handle(struct numalab_trap *trap, void *address, int is_write)
{
    if (!atomic_load(&trap->armed)) return false;
    const struct numalab_arrays *arrays = trap->arrays;
    for (size_t i = 0; i < NUMALAB_MAX_ARRAYS; i++) {
        char *first = arrays->pages[i];
        if (!first || (char *)address < first || (char *)address >= first + arrays->pages_bytes[i])
            continue;
        char *page =
            first + ((size_t)((char *)address - first) / trap->page_bytes) * trap->page_bytes;
        const bool opens_reading_only = trap->writes_only && is_write == 0;
        size_t slot = atomic_fetch_add(&trap->log_count, 1);
        if (slot < trap->log_capacity)
            trap->log[slot] = (struct numalab_trap_entry){
                .address = (uint64_t)(uintptr_t)page,
                .thread_id = (int32_t)syscall(SYS_gettid),
                .is_write = is_write != 0,
                .pu = sched_getcpu(),
                .allowed_count = count_allowed(),
            };
        return mprotect(page, trap->page_bytes,
                        opens_reading_only ? PROT_READ : PROT_READ | PROT_WRITE) == 0;
    }
    return false;
}
