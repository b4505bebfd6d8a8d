/* Who writes which cache line, as worker/stores.c notes it. */
#include "stores.h"

#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "expect.h"

static int failures;

uint64_t numalab_note_stores(size_t line_bytes, const void *loaded, size_t bytes);
void numalab_race(void);

/* As compilers call them. NOLINTBEGIN(bugprone-reserved-identifier) */
void __tsan_write8(void *address);
void __tsan_unaligned_write16(void *address);
void __tsan_write_range(void *address, size_t bytes);
void __tsan_read4(void *address);
void __tsan_read_write4(void *address);
uint64_t __tsan_atomic64_fetch_add(volatile uint64_t *address, uint64_t value, int order);
int __tsan_atomic64_compare_exchange_strong(volatile uint64_t *address, uint64_t *expected,
                                            uint64_t value, int order, int order_if_not);
/* NOLINTEND(bugprone-reserved-identifier) */

enum { LINE = 64 };
static _Alignas(LINE) unsigned char memory[64 * LINE];

static const struct numalab_store_notes *begin(const void *loaded, size_t bytes)
{
    const uint64_t at = numalab_note_stores(LINE, loaded, bytes);
    return (const struct numalab_store_notes *)(uintptr_t)at;
}

/* Of all threads; *writers: how many have written to it. */
static uint64_t stores_to(const struct numalab_store_notes *notes, const void *address,
                          size_t *writers)
{
    uint64_t stores = 0;
    *writers = 0;
    for (size_t i = 0; i < NUMALAB_STORE_NOTES; i++)
        if (notes->note[i].line == (uintptr_t)address / LINE + 1) {
            stores += notes->note[i].stores;
            (*writers)++;
        }
    return stores;
}

static size_t lines(const struct numalab_store_notes *notes)
{
    size_t count = 0;
    for (size_t i = 0; i < NUMALAB_STORE_NOTES; i++) count += notes->note[i].line != 0;
    return count;
}

static void test_single_thread(void)
{
    size_t writers;
    const struct numalab_store_notes *notes = begin(memory, 100);
    for (int i = 0; i < 5; i++) __tsan_write8(memory + 8);
    __tsan_unaligned_write16(memory + LINE - 8); /* in both lines */
    EXPECT(stores_to(notes, memory, &writers) == 6 && writers == 1);
    EXPECT(stores_to(notes, memory + LINE, &writers) == 1 && writers == 1);
    __tsan_write_range(memory + 3 * LINE + 1, 2 * LINE);
    __tsan_write_range(memory, 0);
    EXPECT(lines(notes) == 5);

    /* Of loads those of the array alone, whichever its end. */
    __tsan_read4(memory);
    __tsan_read_write4(memory + 96);
    __tsan_read4(memory + 100);
    EXPECT(stores_to(notes, memory + LINE, &writers) == 2);
    uint64_t loaded = 0;
    for (size_t i = 0; i < NUMALAB_NOTED_THREADS; i++) loaded += notes->loaded_bytes[i];
    EXPECT(loaded == 8);

    notes = begin(NULL, 0);
    EXPECT(lines(notes) == 0 && notes->lost == 0);
    numalab_note_stores(0, NULL, 0);
    __tsan_write8(memory);
    EXPECT(lines(notes) == 0);
}

/* Atomic operations do what they are to do, and are stores, whether they change anything or not. */
static void test_atomic(void)
{
    size_t writers;
    uint64_t *value = (uint64_t *)(void *)memory, expected = 1;
    const struct numalab_store_notes *notes = begin(NULL, 0);
    *value = 40;
    EXPECT(__tsan_atomic64_fetch_add(value, 2, 0) == 40 && *value == 42);
    EXPECT(!__tsan_atomic64_compare_exchange_strong(value, &expected, 7, 0, 0) && expected == 42);
    EXPECT(__tsan_atomic64_compare_exchange_strong(value, &expected, 7, 0, 0) && *value == 7);
    EXPECT(stores_to(notes, memory, &writers) == 3 && writers == 1);
}

/* All that threads write at once is there, each by its own. */
static void test_threads(void)
{
    enum { THREADS = 4, STORES = 20000, LINES = 32 };
    size_t writers;
    const struct numalab_store_notes *notes = begin(NULL, 0);
#pragma omp parallel num_threads(THREADS)
    for (int i = 0; i < STORES; i++) __tsan_write8(memory + LINE * (i % LINES));
    for (size_t line = 0; line < LINES; line++) {
        const uint64_t stores = stores_to(notes, memory + LINE * line, &writers);
        EXPECT(writers == THREADS && stores == THREADS * STORES / LINES);
    }
    EXPECT(notes->lost == 0);

    notes = begin(NULL, 0);
    numalab_race();
    EXPECT(lines(notes) == 2 && notes->lost == 0);
}

/* More lines than there are notes: what has none is counted. */
static void test_lost(void)
{
    enum { MORE = 3 * NUMALAB_STORE_NOTES };
    const struct numalab_store_notes *notes = begin(NULL, 0);
    __tsan_write_range(memory, (size_t)MORE * LINE);
    EXPECT(lines(notes) > NUMALAB_STORE_NOTES / 2);
    EXPECT(lines(notes) + notes->lost >= MORE);
}

int main(void)
{
    test_single_thread();
    test_atomic();
    test_threads();
    test_lost();
    return failures > 0;
}
