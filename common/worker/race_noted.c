/* Tells ThreadSanitizer of accesses that its own pass has not seen (noted.h), as if they stood
 * where the kernel has them. Built without it, whose functions these are (tsan_interface.h). */
#include "noted.h"

#include <stdbool.h>
#include <stdint.h>

/* NOLINTBEGIN(bugprone-reserved-identifier) */
void __tsan_read_range_pc(void *address, unsigned long bytes, void *pc);
void __tsan_write_range_pc(void *address, unsigned long bytes, void *pc);
uint8_t __tsan_atomic8_fetch_add(volatile uint8_t *address, uint8_t value, int order);
uint16_t __tsan_atomic16_fetch_add(volatile uint16_t *address, uint16_t value, int order);
uint32_t __tsan_atomic32_fetch_add(volatile uint32_t *address, uint32_t value, int order);
uint64_t __tsan_atomic64_fetch_add(volatile uint64_t *address, uint64_t value, int order);
/* NOLINTEND(bugprone-reserved-identifier) */

/* Whether it was one that a processor does at once: it is told of by adding nothing. */
static bool note_atomic(void *address, size_t bytes)
{
    if ((uintptr_t)address % bytes != 0) return false;
    if (bytes == 1)
        __tsan_atomic8_fetch_add(address, 0, __ATOMIC_SEQ_CST);
    else if (bytes == 2)
        __tsan_atomic16_fetch_add(address, 0, __ATOMIC_SEQ_CST);
    else if (bytes == 4)
        __tsan_atomic32_fetch_add(address, 0, __ATOMIC_SEQ_CST);
    else if (bytes == 8)
        __tsan_atomic64_fetch_add(address, 0, __ATOMIC_SEQ_CST);
    return bytes <= 8;
}

void numalab_noted(void *address, unsigned long code, void *pc, size_t count)
{
    const size_t bytes = numalab_noted_bytes(code, count);
    if (numalab_noted_by_mask(address, code, pc, count)) return;
    if (bytes == 0 || (code & NUMALAB_NOTED_ATOMIC && note_atomic(address, bytes))) return;
    if (code & NUMALAB_NOTED_WRITE)
        __tsan_write_range_pc(address, bytes, pc);
    else
        __tsan_read_range_pc(address, bytes, pc);
}
