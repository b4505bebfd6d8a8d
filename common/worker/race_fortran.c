/* Of what ThreadSanitizer reports in a Fortran kernel, what gfortran has made and nobody wrote.
 *
 * A parallel region's function gets one block of arguments on the stack of the thread that meets
 * it. Arrays are pointers in it; and behind a region within a region gfortran stores each of them
 * back into the block of the outer one, unchanged, by all threads (gcc/omp-low.cc,
 * lower_send_shared_vars; gcc leaves that out for C, where it can tell that the pointer is only
 * read). So a race for eight bytes on a stack in which an address lies is not the kernel's:
 * pointers and allocatable arrays that a kernel declares itself are descriptors, whose bounds would
 * race as well.
 *
 * Built without ThreadSanitizer, whose functions these are (sanitizer's tsan_debugging.cpp). */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Where programs, heaps and stacks are: no number that anybody counts to, and as a double none that
 * is calculated. */
static const uint64_t least_address = (uint64_t)1 << 40, end_of_addresses = (uint64_t)1 << 48;

int __tsan_get_report_data(void *report, const char **description, int *count, int *stack_count,
                           int *access_count, int *location_count, int *mutex_count,
                           int *thread_count, int *unique_tid_count, void **sleep_trace,
                           uintptr_t trace_size);
int __tsan_get_report_mop(void *report, uintptr_t index, int *tid, void **address, int *size,
                          int *write, int *atomic, void **trace, uintptr_t trace_size);
int __tsan_get_report_loc(void *report, uintptr_t index, const char **type, void **address,
                          uintptr_t *start, uintptr_t *size, int *tid, int *fd, int *suppressable,
                          void **trace, uintptr_t trace_size);

/* Whether a report is to be left out, asked by ThreadSanitizer before it ends the program.
 * suppressed: what it says itself. */
bool numalab_filter_report(void *report,
                           bool suppressed) __asm__("_ZN6__tsan8OnReportEPKNS_10ReportDescEb");

static bool is_on_stack(void *report, int location_count)
{
    const char *type = "";
    void *address, *trace[1];
    uintptr_t start, size;
    int tid, fd, suppressable;
    if (location_count < 1) return false;
    __tsan_get_report_loc(report, 0, &type, &address, &start, &size, &tid, &fd, &suppressable,
                          trace, 1);
    return strcmp(type, "stack") == 0;
}

static bool holds_address(const void *place)
{
    uint64_t value;
    memcpy(&value, place, sizeof value);
    return value >= least_address && value < end_of_addresses;
}

bool numalab_filter_report(void *report, bool suppressed)
{
    const char *description;
    int count, stacks, accesses, locations, mutexes, threads, tids;
    void *trace[1];
    __tsan_get_report_data(report, &description, &count, &stacks, &accesses, &locations, &mutexes,
                           &threads, &tids, trace, 1);
    if (suppressed || accesses < 2 || !is_on_stack(report, locations)) return suppressed;
    for (int i = 0; i < accesses; i++) {
        int tid, size, is_write, is_atomic;
        void *address = NULL;
        __tsan_get_report_mop(report, (uintptr_t)i, &tid, &address, &size, &is_write, &is_atomic,
                              trace, 1);
        if (size != sizeof(uint64_t) || !holds_address(address)) return false;
    }
    return true;
}
