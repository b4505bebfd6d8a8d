/* Lab 04: how the worker calls the kernel, and what it does with the table. Array as in
 * driver.c: table. */
#include "numalab/phases.h"

#include <omp.h>
#include <stdint.h>
#include <string.h>

#include "huge_pages.h"
#include "place.h"
#include "updates.h"

enum { HUGE_PAGE_BYTES = 2 << 20, HEADER_BYTE = 0x5a };

static void run_create(size_t n, void **arrays)
{
    arrays[0] = table_create(n * sizeof(uint64_t));
}

static void run_destroy(size_t n, void **arrays)
{
    table_destroy(arrays[0], n * sizeof(uint64_t));
    arrays[0] = NULL;
}

/* The slices of the calling thread: first, and one past the last. */
static void own_slices(size_t *first, size_t *end)
{
    const size_t threads = (size_t)omp_get_num_threads();
    const size_t thread = (size_t)omp_get_thread_num();
    *first = UPDATES_SLICES * thread / threads;
    *end = UPDATES_SLICES * (thread + 1) / threads;
}

/* Of a table behind a header: writes that, and into the table's first element how far behind the
 * begin of a huge page it lies. */
static void note_place(uint64_t *table)
{
    if (HEADER_BYTES == 0) return;
    memset((unsigned char *)table - HEADER_BYTES, HEADER_BYTE, HEADER_BYTES);
    table[0] = (uintptr_t)table % HUGE_PAGE_BYTES;
}

/* Each thread is the first to write what it will update. */
static void run_zero(size_t n, void **arrays)
{
    uint64_t *table = arrays[0];
#pragma omp parallel
    {
        size_t first, end;
        own_slices(&first, &end);
        const size_t start = updates_first(n, first);
        memset(table + start, 0, (updates_first(n, end) - start) * sizeof *table);
    }
    note_place(table);
}

/* Round robin over the thread's slices, so that its working set is its whole share and
 * many updates are on their way at once: no address depends on what was loaded. */
static void update_slices(uint64_t *table, size_t n, size_t first, size_t end)
{
    struct updates_slice slice[UPDATES_SLICES];
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        slice[count] = updates_start(n, i);
        if (slice[count].count > 0) count++;
    }
    for (size_t step = updates_steps(n); step > 0; step--)
        for (size_t i = 0; i < count; i++) {
            const uint64_t position = updates_step(&slice[i]);
            const size_t element = slice[i].first + (size_t)position;
            if (position < slice[i].count) table[element] += updates_added(element);
        }
}

static void run_update(size_t n, void **arrays)
{
#pragma omp parallel
    {
        size_t first, end;
        own_slices(&first, &end);
        for (size_t round = 0; round < UPDATES_ROUNDS; round++)
            update_slices(arrays[0], n, first, end);
    }
    note_place(arrays[0]);
}

const struct numalab_phase numalab_phases[] = {
    {"table_create", run_create},   {"zero", run_zero}, {"update", run_update},
    {"table_destroy", run_destroy}, {NULL, NULL},
};
