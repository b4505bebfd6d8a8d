/* Lab 01: the arrays, what they should hold, and the bytes that have to move.
 *
 * All values are small whole numbers, so single precision holds every sum
 * exactly and results are compared bit for bit. */
#include "numalab/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "numalab/changed.h"

enum { A, B, C };
enum { PERIOD = 7, BLOCK_ELEMENTS = 4096, PATTERN_ELEMENTS = BLOCK_ELEMENTS + PERIOD };

/* An element whose values no longer follow from its index alone. */
struct changed_element {
    size_t element;
    float value[3]; /* of a, b, c */
};

struct numalab_oracle {
    size_t n;
    size_t computes;                /* how often compute has run */
    struct numalab_changed changed; /* of struct changed_element */
};

static const struct numalab_array arrays[] = {
    [A] = {"a", sizeof(float)},
    [B] = {"b", sizeof(float)},
    [C] = {"c", sizeof(float)},
};

/* a is read and written, b and c are read: no line is fetched only to be written. */
static size_t bytes_moved(size_t n)
{
    return 4 * n * sizeof(float);
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->n = n;
    oracle->changed.entry_bytes = sizeof(struct changed_element);
    return oracle;
}

static void destroy(struct numalab_oracle *oracle)
{
    numalab_changed_free(&oracle->changed);
    free(oracle);
}

/* What an element holds that was never changed from outside. */
static float unchanged_value(const struct numalab_oracle *oracle, size_t array, size_t element)
{
    const float b = (float)(element % PERIOD);
    if (array == B) return b;
    return array == C ? 1.0f : (float)oracle->computes * b;
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "initialize") == 0) {
        oracle->computes = 0;
        numalab_changed_clear(&oracle->changed);
        return;
    }
    oracle->computes++;
    struct changed_element *changed = oracle->changed.entries;
    for (size_t i = 0; i < oracle->changed.count; i++) {
        float *value = changed[i].value;
        value[A] += value[B] * value[C];
    }
}

static int change_element(struct numalab_oracle *oracle, uint64_t random_position,
                          uint64_t random_value, struct numalab_change *change)
{
    struct changed_element fresh = {.element = (size_t)(random_position % oracle->n)};
    for (size_t array = A; array <= C; array++)
        fresh.value[array] = unchanged_value(oracle, array, fresh.element);
    struct changed_element *entry = numalab_changed_add(&oracle->changed, &fresh);
    if (!entry) return -ENOMEM;
    change->array = (size_t)(random_value % 3);
    change->element = entry->element;
    float value = (float)(1 + random_value / 3 % 61);
    entry->value[change->array] = value;
    memcpy(change->value, &value, sizeof value);
    return 0;
}

/* What part elements of an array from element first on should hold. */
static void expect(const struct numalab_oracle *oracle, size_t array, size_t first, size_t part,
                   const float *pattern, float *expected)
{
    const void *here[BLOCK_ELEMENTS];
    const size_t changed = numalab_changed_collect(&oracle->changed, first, part, here);
    memcpy(expected, pattern + first % PERIOD, part * sizeof *expected);
    for (size_t i = 0; i < changed; i++) {
        const struct changed_element *entry = here[i];
        expected[entry->element - first] = entry->value[array];
    }
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual_pointer, struct numalab_mismatch *mismatch)
{
    const float *actual = actual_pointer;
    float pattern[PATTERN_ELEMENTS], expected[BLOCK_ELEMENTS];
    size_t mismatches = 0;

    /* What an array repeats in which nothing was changed. */
    for (size_t i = 0; i < PATTERN_ELEMENTS; i++) pattern[i] = unchanged_value(oracle, array, i);
    for (size_t start = 0; start < count; start += BLOCK_ELEMENTS) {
        const size_t part = count - start < BLOCK_ELEMENTS ? count - start : BLOCK_ELEMENTS;
        expect(oracle, array, first + start, part, pattern, expected);
        if (memcmp(actual + start, expected, part * sizeof *expected) == 0) continue;
        for (size_t i = 0; i < part; i++) {
            const float value = actual[start + i];
            /* Negated, so that NaN is wrong. */
            if (!(value == expected[i]) && mismatches++ == 0)
                *mismatch =
                    (struct numalab_mismatch){array, first + start + i, expected[i], value, "", ""};
        }
    }
    return mismatches;
}

static const struct numalab_driver driver = {
    .lab = "01_first_touch",
    .arrays = arrays,
    .array_count = sizeof arrays / sizeof arrays[0],
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    .timed_n = {0, 0, (size_t)1 << 29},
    .elements_per_change = NUMALAB_SMALL_PAGE_BYTES / sizeof(float),
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change_element,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
