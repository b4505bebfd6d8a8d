/* Lab 01, a variant: the arrays, what they should hold, and the bytes that have to move.
 *
 * All values are small whole numbers, so single precision holds every sum exactly and results are
 * compared bit for bit. */
#include "numalab/driver.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "numalab/changed.h"
#include "variant.h"

enum { A, B, C, ARRAYS };
enum { PERIOD = 7, BLOCK_ELEMENTS = 4096 };

/* An element whose value no longer follows from its index alone. */
struct changed_element {
    size_t element;
    float value;
};

struct numalab_oracle {
    size_t n;
    size_t computes;                        /* how often compute has run */
    struct numalab_changed changed[ARRAYS]; /* of struct changed_element; of a also those whose
                                               element of b or c was changed */
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
    for (size_t array = A; array < ARRAYS; array++)
        oracle->changed[array].entry_bytes = sizeof(struct changed_element);
    return oracle;
}

static void destroy(struct numalab_oracle *oracle)
{
    for (size_t array = A; array < ARRAYS; array++) numalab_changed_free(&oracle->changed[array]);
    free(oracle);
}

/* What an element holds that nothing was changed for. */
static float unchanged_value(const struct numalab_oracle *oracle, size_t array, size_t element)
{
    if (array == B) return (float)(element % PERIOD);
    if (array == C) return 1.0f;
    return (float)oracle->computes * (float)(b_of_a(oracle->n, element) % PERIOD);
}

static float value_of(const struct numalab_oracle *oracle, size_t array, size_t element)
{
    const struct changed_element *entry = numalab_changed_find(&oracle->changed[array], element);
    return entry ? entry->value : unchanged_value(oracle, array, element);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "initialize") == 0) {
        oracle->computes = 0;
        for (size_t array = A; array < ARRAYS; array++)
            numalab_changed_clear(&oracle->changed[array]);
        return;
    }
    oracle->computes++;
    struct changed_element *changed = oracle->changed[A].entries;
    for (size_t e = 0; e < oracle->changed[A].count; e++) {
        const size_t i = changed[e].element;
        changed[e].value +=
            value_of(oracle, B, b_of_a(oracle->n, i)) * value_of(oracle, C, c_of_a(oracle->n, i));
    }
}

/* The element's entry, with the value that it has. */
static struct changed_element *entry_of(struct numalab_oracle *oracle, size_t array, size_t element)
{
    const struct changed_element fresh = {element, value_of(oracle, array, element)};
    return numalab_changed_add(&oracle->changed[array], &fresh);
}

static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    const size_t element = (size_t)(random_position % oracle->n);
    const size_t array = (size_t)(random_value % ARRAYS);
    const float value = (float)(1 + random_value / ARRAYS % 61);
    const size_t of_a = array == A   ? element
                        : array == B ? a_of_b(oracle->n, element)
                                     : a_of_c(oracle->n, element);
    if (!entry_of(oracle, A, of_a)) return -ENOMEM; /* from now on it is worked out by itself */
    struct changed_element *entry = entry_of(oracle, array, element);
    if (!entry) return -ENOMEM;
    entry->value = value;
    change->array = array;
    change->element = element;
    memcpy(change->value, &value, sizeof value);
    return 0;
}

/* What part elements of an array from element first on should hold. */
static void expect(const struct numalab_oracle *oracle, size_t array, size_t first, size_t part,
                   float *expected)
{
    const void *here[BLOCK_ELEMENTS];
    const size_t changed = numalab_changed_collect(&oracle->changed[array], first, part, here);
    for (size_t i = 0; i < part; i++) expected[i] = unchanged_value(oracle, array, first + i);
    for (size_t i = 0; i < changed; i++) {
        const struct changed_element *entry = here[i];
        expected[entry->element - first] = entry->value;
    }
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual_pointer, struct numalab_mismatch *mismatch)
{
    const float *actual = actual_pointer;
    float expected[BLOCK_ELEMENTS];
    size_t mismatches = 0;

    for (size_t start = 0; start < count; start += BLOCK_ELEMENTS) {
        const size_t part = count - start < BLOCK_ELEMENTS ? count - start : BLOCK_ELEMENTS;
        expect(oracle, array, first + start, part, expected);
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
    .lab = "01_first_touch_variant",
    .arrays = arrays,
    .array_count = sizeof arrays / sizeof arrays[0],
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    .elements_per_change = NUMALAB_SMALL_PAGE_BYTES / sizeof(float),
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
