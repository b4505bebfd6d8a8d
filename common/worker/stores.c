/* Who writes which cache line: what kernels call that are compiled for ThreadSanitizer, in programs
 * that have this instead of it (cmake/AddLab.cmake, race workers). Each store is noted by line and
 * thread; of loads, how much of the first array each thread has had.
 *
 * A note has one thread that changes it, so notes cost no more than a search among some few; and
 * they say the same whether two threads write in turn or one after the other, so nothing hangs on
 * how a busy machine runs them. Built without ThreadSanitizer. */
#include "stores.h"

#include "noted.h"

#include <omp.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A store looks at so many places for its note. */
enum { MOST_STEPS = 256 };

static struct numalab_store_notes notes;
static _Atomic uint32_t threads;
static __thread uint32_t own_number;
static uintptr_t loaded_from;
static size_t loaded_bytes;

/* As common/worker/main.c calls them. */
uint64_t numalab_note_stores(size_t line_bytes, const void *loaded, size_t bytes);
void numalab_race(void);
void numalab_set_team(size_t count);

/* Clears the notes. What is written from now on is noted by lines of so many bytes, and what is
 * loaded of so many bytes there. Called while no thread of the kernel runs. Returns where the notes
 * are. */
uint64_t numalab_note_stores(size_t line_bytes, const void *loaded, size_t bytes)
{
    memset(&notes, 0, sizeof notes);
    notes.line_bytes = line_bytes;
    loaded_from = (uintptr_t)loaded;
    loaded_bytes = bytes;
    return (uint64_t)(uintptr_t)&notes;
}

static uint32_t number(void)
{
    if (own_number == 0) own_number = 1 + atomic_fetch_add(&threads, 1);
    return own_number;
}

static void note_line(uint64_t line)
{
    const uint32_t own = number();
    const uint64_t mixed = (line * 64 + own) * UINT64_C(0x9e3779b97f4a7c15);
    size_t place = (size_t)(mixed >> 32) % NUMALAB_STORE_NOTES;
    for (int i = 0; i < MOST_STEPS; i++, place = (place + 1) % NUMALAB_STORE_NOTES) {
        struct numalab_store_note *note = &notes.note[place];
        uint64_t held = __atomic_load_n(&note->line, __ATOMIC_ACQUIRE);
        if (held == 0) {
            /* The thread first, so that whoever meets the line knows whose note it is. */
            uint32_t nobody = 0;
            if (!__atomic_compare_exchange_n(&note->thread, &nobody, own, false, __ATOMIC_ACQ_REL,
                                             __ATOMIC_ACQUIRE))
                continue; /* another's, or soon */
            __atomic_store_n(&note->line, line + 1, __ATOMIC_RELEASE);
            held = line + 1;
        }
        if (held != line + 1 || __atomic_load_n(&note->thread, __ATOMIC_RELAXED) != own) continue;
        if (note->stores < UINT32_MAX) note->stores++;
        return;
    }
    __atomic_fetch_add(&notes.lost, 1, __ATOMIC_RELAXED);
}

static void note(const volatile void *address, size_t bytes)
{
    const uint64_t line_bytes = notes.line_bytes;
    if (line_bytes == 0 || bytes == 0) return;
    const uint64_t first = (uint64_t)(uintptr_t)address;
    for (uint64_t line = first / line_bytes; line <= (first + bytes - 1) / line_bytes; line++)
        note_line(line);
}

static void note_load(const volatile void *address, size_t bytes)
{
    if ((uintptr_t)address - loaded_from >= loaded_bytes) return;
    const uint32_t own = number();
    if (own <= NUMALAB_NOTED_THREADS) notes.loaded_bytes[own - 1] += bytes;
}

/* False sharing of the kit's own: where that is not noted, a kernel's would not be. */
void numalab_race(void)
{
    static _Alignas(16) uint64_t side_by_side[2];
    omp_set_dynamic(0);
    omp_set_max_active_levels(1);
#pragma omp parallel num_threads(2)
    {
        volatile uint64_t *own = &side_by_side[omp_get_thread_num()];
        for (int i = 0; i < NUMALAB_OWN_STORES; i++) {
            note(own, sizeof *own);
            *own = *own + 1;
        }
    }
}

void numalab_set_team(size_t count)
{
    omp_set_num_threads((int)count);
}

/* What compilers tell nobody of. */
void numalab_noted(void *address, unsigned long code, void *pc, size_t count)
{
    const size_t bytes = numalab_noted_bytes(code, count);
    if (numalab_noted_by_mask(address, code, pc, count)) return;
    if (code & NUMALAB_NOTED_WRITE)
        note(address, bytes);
    else
        note_load(address, bytes);
}

/* ---- what compilers put in (LLVM's tsan_interface.h) -------------------------------- */

/* NOLINTBEGIN(bugprone-reserved-identifier) */
#define READ(name, bytes)                                                                          \
    void __tsan_##name(void *address);                                                             \
    void __tsan_##name(void *address)                                                              \
    {                                                                                              \
        note_load(address, bytes);                                                                 \
    }
#define WRITE(name, bytes)                                                                         \
    void __tsan_##name(void *address);                                                             \
    void __tsan_##name(void *address)                                                              \
    {                                                                                              \
        note(address, bytes);                                                                      \
    }
#define BOTH(name, bytes)                                                                          \
    void __tsan_##name(void *address);                                                             \
    void __tsan_##name(void *address)                                                              \
    {                                                                                              \
        note_load(address, bytes);                                                                 \
        note(address, bytes);                                                                      \
    }
#define ACCESSES(bytes)                                                                            \
    READ(read##bytes, bytes)                                                                       \
    READ(unaligned_read##bytes, bytes)                                                             \
    READ(volatile_read##bytes, bytes)                                                              \
    READ(unaligned_volatile_read##bytes, bytes)                                                    \
    WRITE(write##bytes, bytes)                                                                     \
    WRITE(unaligned_write##bytes, bytes)                                                           \
    WRITE(volatile_write##bytes, bytes)                                                            \
    WRITE(unaligned_volatile_write##bytes, bytes)                                                  \
    BOTH(read_write##bytes, bytes)                                                                 \
    BOTH(unaligned_read_write##bytes, bytes)
ACCESSES(1)
ACCESSES(2)
ACCESSES(4)
ACCESSES(8)
ACCESSES(16)

void __tsan_init(void);
void __tsan_init(void)
{
}

void __tsan_func_entry(void *caller);
void __tsan_func_entry(void *caller)
{
    (void)caller;
}

void __tsan_func_exit(void);
void __tsan_func_exit(void)
{
}

void __tsan_read_range(void *address, size_t bytes);
void __tsan_read_range(void *address, size_t bytes)
{
    note_load(address, bytes);
}

void __tsan_write_range(void *address, size_t bytes);
void __tsan_write_range(void *address, size_t bytes)
{
    note(address, bytes);
}

void *__tsan_memcpy(void *target, const void *source, size_t bytes);
void *__tsan_memcpy(void *target, const void *source, size_t bytes)
{
    note_load(source, bytes);
    note(target, bytes);
    return memmove(target, source, bytes);
}

void *__tsan_memmove(void *target, const void *source, size_t bytes);
void *__tsan_memmove(void *target, const void *source, size_t bytes)
{
    return __tsan_memcpy(target, source, bytes);
}

void *__tsan_memset(void *target, int value, size_t bytes);
void *__tsan_memset(void *target, int value, size_t bytes)
{
    note(target, bytes);
    return memset(target, value, bytes);
}

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order)
{
    (void)order;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

#define CHANGE(bits, type, name, change)                                                           \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order);              \
    type __tsan_atomic##bits##_##name(volatile type *address, type value, int order)               \
    {                                                                                              \
        (void)order;                                                                               \
        note(address, sizeof *address);                                                            \
        return change(address, value, __ATOMIC_SEQ_CST);                                           \
    }
/* As the compiler's own, which changes nothing where the value is another one; that takes the line,
 * too. */
#define EXCHANGE(bits, type, name)                                                                 \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected,      \
                                                      type value, int order, int order_if_not);    \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *address, type *expected,      \
                                                      type value, int order, int order_if_not)     \
    {                                                                                              \
        (void)order;                                                                               \
        (void)order_if_not;                                                                        \
        note(address, sizeof *address);                                                            \
        return __atomic_compare_exchange_n(address, expected, value, 0, __ATOMIC_SEQ_CST,          \
                                           __ATOMIC_SEQ_CST);                                      \
    }
#define ATOMICS(bits, type)                                                                        \
    type __tsan_atomic##bits##_load(const volatile type *address, int order);                      \
    type __tsan_atomic##bits##_load(const volatile type *address, int order)                       \
    {                                                                                              \
        (void)order;                                                                               \
        return __atomic_load_n(address, __ATOMIC_SEQ_CST);                                         \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order);               \
    void __tsan_atomic##bits##_store(volatile type *address, type value, int order)                \
    {                                                                                              \
        (void)order;                                                                               \
        note(address, sizeof *address);                                                            \
        __atomic_store_n(address, value, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    CHANGE(bits, type, exchange, __atomic_exchange_n)                                              \
    CHANGE(bits, type, fetch_add, __atomic_fetch_add)                                              \
    CHANGE(bits, type, fetch_sub, __atomic_fetch_sub)                                              \
    CHANGE(bits, type, fetch_and, __atomic_fetch_and)                                              \
    CHANGE(bits, type, fetch_or, __atomic_fetch_or)                                                \
    CHANGE(bits, type, fetch_xor, __atomic_fetch_xor)                                              \
    CHANGE(bits, type, fetch_nand, __atomic_fetch_nand)                                            \
    EXCHANGE(bits, type, strong)                                                                   \
    EXCHANGE(bits, type, weak)
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)
/* NOLINTEND(bugprone-reserved-identifier) */
