/* Lab 01: the arrays, what they should hold, and the bytes that have to move.
 *
 * All values are small whole numbers, so single precision holds every sum
 * exactly and results are compared bit for bit. */
#include "numalab/driver.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { A, B, C };
enum { PERIOD = 7, BLOCK_ELEMENTS = 4096, PATTERN_ELEMENTS = BLOCK_ELEMENTS + PERIOD };

/* An element whose values no longer follow from its index alone. */
struct changed_element {
    size_t element;
    float value[3]; /* of a, b, c */
};

struct numalab_oracle {
    size_t n;
    size_t computes; /* how often compute has run */
    struct changed_element *changed;
    size_t changed_count, changed_room;
};

static const struct numalab_array arrays[] = {
    [A] = {"a", sizeof(float)},
    [B] = {"b", sizeof(float)},
    [C] = {"c", sizeof(float)},
};

/* a is read and written, b and c are read. */
static size_t bytes_moved(size_t n)
{
    return 4 * n * sizeof(float);
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (oracle) oracle->n = n;
    return oracle;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle->changed);
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
        oracle->changed_count = 0;
        return;
    }
    oracle->computes++;
    for (size_t i = 0; i < oracle->changed_count; i++) {
        float *value = oracle->changed[i].value;
        value[A] += value[B] * value[C];
    }
}

static struct changed_element *changed_entry(struct numalab_oracle *oracle, size_t element)
{
    for (size_t i = 0; i < oracle->changed_count; i++)
        if (oracle->changed[i].element == element) return &oracle->changed[i];
    if (oracle->changed_count == oracle->changed_room) {
        size_t room = oracle->changed_room ? 2 * oracle->changed_room : 64;
        void *list = realloc(oracle->changed, room * sizeof *oracle->changed);
        if (!list) return NULL;
        oracle->changed = list;
        oracle->changed_room = room;
    }
    struct changed_element *entry = &oracle->changed[oracle->changed_count++];
    entry->element = element;
    for (size_t array = A; array <= C; array++)
        entry->value[array] = unchanged_value(oracle, array, element);
    return entry;
}

static int change(struct numalab_oracle *oracle, uint64_t random_position,
                  uint64_t random_value, struct numalab_change *change)
{
    struct changed_element *entry =
        changed_entry(oracle, (size_t)(random_position % oracle->n));
    if (!entry) return -ENOMEM;
    change->array = (size_t)(random_value % 3);
    change->element = entry->element;
    float value = (float)(1 + random_value / 3 % 61);
    entry->value[change->array] = value;
    memcpy(change->value, &value, sizeof value);
    return 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                      size_t count, const void *found_pointer,
                      struct numalab_mismatch *mismatch)
{
    const float *found = found_pointer;
    float pattern[PATTERN_ELEMENTS];
    size_t wrong = 0;

    for (size_t i = 0; i < PATTERN_ELEMENTS; i++)
        pattern[i] = unchanged_value(oracle, array, i);
    for (size_t start = 0; start < count; start += BLOCK_ELEMENTS) {
        size_t part = count - start < BLOCK_ELEMENTS ? count - start : BLOCK_ELEMENTS;
        const struct changed_element *changed_here[BLOCK_ELEMENTS];
        bool has_changed = false;
        for (size_t i = 0; i < oracle->changed_count; i++) {
            const struct changed_element *changed = &oracle->changed[i];
            size_t place = changed->element - (first + start); /* huge if before */
            if (place >= part) continue;
            if (!has_changed) memset(changed_here, 0, sizeof changed_here);
            has_changed = true;
            changed_here[place] = changed;
        }
        /* Most blocks hold what an array repeats in which nothing was changed. */
        if (!has_changed && memcmp(found + start, pattern + (first + start) % PERIOD,
                                   part * sizeof(float)) == 0)
            continue;
        for (size_t i = 0; i < part; i++) {
            size_t element = first + start + i;
            float expected = has_changed && changed_here[i]
                                 ? changed_here[i]->value[array]
                                 : unchanged_value(oracle, array, element);
            float value = found[start + i];
            /* Negated, so that NaN is wrong. */
            if (!(value == expected) && wrong++ == 0)
                *mismatch = (struct numalab_mismatch){array, element, expected, value};
        }
    }
    return wrong;
}

static const struct numalab_driver driver = {
    .lab = "01_first_touch",
    .arrays = arrays,
    .array_count = sizeof arrays / sizeof arrays[0],
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    .timed_n = {0, 0, (size_t)1 << 29},
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
