/* Lab 04: the table, what it should hold, and the bytes that have to move. */
#include "numalab/driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "numalab/changed.h"
#include "place.h"
#include "updates.h"

enum { BLOCK_ELEMENTS = 4096, WORD_BITS = 64, MOST_CHANGED_TO = 100000 };

/* An element whose value no longer follows from its index and the number of calls. */
struct changed_element {
    size_t element;
    uint64_t value;
};

/* One bit per element: whether a call of update visits it. They are the same for all. */
struct numalab_oracle {
    size_t n;
    uint64_t updates; /* how often update has run */
    uint64_t *is_visited;
    struct numalab_changed changed; /* of struct changed_element */
};

static const struct numalab_array arrays[] = {{"table", sizeof(uint64_t)}};

/* The lines that hold the visited elements are few, so that caches keep many of them, and what sets
 * the pace is where an address is, not how many bytes come from there. */
static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle->is_visited);
    numalab_changed_free(&oracle->changed);
    free(oracle);
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->n = n;
    oracle->changed.entry_bytes = sizeof(struct changed_element);
    oracle->is_visited = calloc(n / WORD_BITS + 1, sizeof *oracle->is_visited);
    if (!oracle->is_visited) {
        destroy(oracle);
        return NULL;
    }
    const size_t steps = updates_steps(n);
    for (size_t i = 0; i < UPDATES_SLICES; i++) {
        struct updates_slice slice = updates_start(n, i);
        for (size_t step = 0; step < steps; step++) {
            const size_t position = (size_t)updates_step(&slice);
            const size_t element = slice.first + position;
            if (position < slice.count)
                oracle->is_visited[element / WORD_BITS] |= UINT64_C(1) << element % WORD_BITS;
        }
    }
    return oracle;
}

/* Whether it tells where the table lies, whatever it held before. */
static bool reveals_address(size_t element)
{
    return HEADER_BYTES > 0 && element == 0;
}

/* What one call adds to an element, in all its rounds: 0 where it does not visit it. */
static uint64_t added(const struct numalab_oracle *oracle, size_t element)
{
    const uint64_t bit = oracle->is_visited[element / WORD_BITS] >> element % WORD_BITS & 1;
    return (0 - bit) & UPDATES_ROUNDS * updates_added(element);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "zero") == 0) {
        oracle->updates = 0;
        numalab_changed_clear(&oracle->changed);
        return;
    }
    oracle->updates++;
    struct changed_element *changed = oracle->changed.entries;
    for (size_t i = 0; i < oracle->changed.count; i++)
        changed[i].value = reveals_address(changed[i].element)
                               ? HEADER_BYTES
                               : changed[i].value + added(oracle, changed[i].element);
}

static int change_element(struct numalab_oracle *oracle, uint64_t random_position,
                          uint64_t random_value, struct numalab_change *change)
{
    const struct changed_element fresh = {.element = (size_t)(random_position % oracle->n)};
    struct changed_element *entry = numalab_changed_add(&oracle->changed, &fresh);
    if (!entry) return -ENOMEM;
    entry->value = random_value % MOST_CHANGED_TO;
    change->array = 0;
    change->element = entry->element;
    memcpy(change->value, &entry->value, sizeof entry->value);
    return 0;
}

/* What an element holds that was not changed. */
static uint64_t unchanged_value(const struct numalab_oracle *oracle, size_t element)
{
    return reveals_address(element) ? HEADER_BYTES : oracle->updates * added(oracle, element);
}

/* Whether count elements from first on, none of them changed, are all right. */
static bool matches_exactly(const struct numalab_oracle *oracle, size_t first, size_t count,
                            const uint64_t *actual)
{
    const size_t start = reveals_address(first) ? 1 : 0;
    uint64_t differing = start > 0 ? actual[0] ^ HEADER_BYTES : 0;
    for (size_t i = start; i < count; i++)
        differing |= actual[i] ^ oracle->updates * added(oracle, first + i);
    return differing == 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual_pointer, struct numalab_mismatch *mismatch)
{
    const uint64_t *actual = actual_pointer;
    size_t mismatches = 0;

    for (size_t start = 0; start < count; start += BLOCK_ELEMENTS) {
        const size_t part = count - start < BLOCK_ELEMENTS ? count - start : BLOCK_ELEMENTS;
        const void *changed_here[BLOCK_ELEMENTS];
        const bool has_changed =
            numalab_changed_collect(&oracle->changed, first + start, part, changed_here) > 0;
        if (!has_changed && matches_exactly(oracle, first + start, part, actual + start)) continue;
        for (size_t i = 0; i < part; i++) {
            const size_t element = first + start + i;
            const struct changed_element *changed =
                has_changed ? numalab_changed_find(&oracle->changed, element) : NULL;
            const uint64_t expected = changed ? changed->value : unchanged_value(oracle, element);
            if (actual[start + i] != expected && mismatches++ == 0)
                *mismatch =
                    numalab_make_unsigned_mismatch(array, element, expected, actual[start + i]);
        }
    }
    return mismatches;
}

static const struct numalab_driver driver = {
    .lab = "04_huge_pages",
    .arrays = arrays,
    .array_count = sizeof arrays / sizeof arrays[0],
    .create_phase = "table_create",
    .destroy_phase = "table_destroy",
    .initialize_phase = "zero",
    .compute_phase = "update",
    .uses_huge_pages = true,
    /* 256 MiB and 1 GiB. */
    .timed_n = {(size_t)1 << 25, (size_t)1 << 27, (size_t)1 << 27},
    .largest_check_n = 600011, /* more than one huge page, and no multiple of it */
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change_element,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
