/* Lab 02: the arrays of STREAM, what they should hold, and those in which threads write
 * where they are. */
#include "numalab/driver.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "numalab/changed.h"
#include "scalar.h"

enum { A, B, C, STREAM_ARRAYS };

/* Two roundings in a pass go another way where the compiler contracts b + s * c, and each
 * pass starts from the one before: so many units in the last place for each pass. */
enum { ULP_PER_PASS = 4 };

struct values {
    double element[STREAM_ARRAYS];
};

struct changed_element {
    size_t element;
    struct values values;
};

struct numalab_oracle {
    size_t n;
    size_t passes;
    struct values unchanged;        /* of all elements that are not in the list */
    struct numalab_changed changed; /* of struct changed_element */
};

static const struct numalab_array stream_arrays[] = {
    [A] = {"a", sizeof(double)},
    [B] = {"b", sizeof(double)},
    [C] = {"c", sizeof(double)},
};

/* Each of the four writes one array, whose lines are fetched first. */
static size_t bytes_allocated(size_t n)
{
    return 4 * n * sizeof(double);
}

/* copy and scale read one array and write one, add and triad read two. */
static size_t bytes_moved(size_t n)
{
    return 10 * n * sizeof(double) + bytes_allocated(n);
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

static void pass(struct values *values)
{
    double *v = values->element;
    v[C] = v[A];
    v[B] = STREAM_SCALAR * v[C];
    v[C] = v[A] + v[B];
    v[A] = v[B] + STREAM_SCALAR * v[C];
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "initialize") == 0) {
        oracle->passes = 0;
        numalab_changed_clear(&oracle->changed);
        oracle->unchanged = (struct values){{[A] = 1.0, [B] = 2.0, [C] = 0.0}};
        return;
    }
    oracle->passes++;
    pass(&oracle->unchanged);
    struct changed_element *changed = oracle->changed.entries;
    for (size_t i = 0; i < oracle->changed.count; i++) pass(&changed[i].values);
}

/* Of a only: b and c are written before they are read. */
static int change_element(struct numalab_oracle *oracle, uint64_t random_position,
                          uint64_t random_value, struct numalab_change *change)
{
    const struct changed_element fresh = {(size_t)(random_position % oracle->n), oracle->unchanged};
    struct changed_element *entry = numalab_changed_add(&oracle->changed, &fresh);
    if (!entry) return -ENOMEM;
    change->array = A;
    change->element = entry->element;
    entry->values.element[A] = (double)(2 + random_value % 61);
    memcpy(change->value, &entry->values.element[A], sizeof(double));
    return 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual_pointer, struct numalab_mismatch *mismatch)
{
    const double *actual = actual_pointer;
    const double tolerance = ULP_PER_PASS * DBL_EPSILON * (double)oracle->passes;
    const double usual = oracle->unchanged.element[array];
    size_t mismatches = 0;

    for (size_t i = 0; i < count; i++) {
        if (fabs(actual[i] - usual) <= tolerance * usual) continue;
        const struct changed_element *changed = numalab_changed_find(&oracle->changed, first + i);
        const double expected = changed ? changed->values.element[array] : usual;
        /* Negated, so that NaN is wrong. */
        if (!(fabs(actual[i] - expected) <= tolerance * expected) && mismatches++ == 0)
            *mismatch = (struct numalab_mismatch){array, first + i, expected, actual[i], "", ""};
    }
    /* An element that was changed and does not show it. */
    const struct changed_element *entries = oracle->changed.entries;
    for (size_t k = 0; k < oracle->changed.count; k++) {
        const struct changed_element *changed = &entries[k];
        const size_t place = changed->element - first; /* huge if before */
        if (place >= count) continue;
        const double expected = changed->values.element[array];
        const bool seems_usual = fabs(actual[place] - usual) <= tolerance * usual;
        if (seems_usual && !(fabs(actual[place] - expected) <= tolerance * expected) &&
            mismatches++ == 0)
            *mismatch =
                (struct numalab_mismatch){array, changed->element, expected, actual[place], "", ""};
    }
    return mismatches;
}

static const struct numalab_driver stream = {
    .lab = "02_affinity",
    .part = "stream",
    .arrays = stream_arrays,
    .array_count = STREAM_ARRAYS,
    .initialize_phase = "initialize",
    .compute_phase = "stream",
    .bytes_moved = bytes_moved,
    .bytes_allocated = bytes_allocated,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change_element,
    .compare = compare,
};

/* ---- locate: what is right depends on where the threads are, which the monitor knows --- */

static const struct numalab_array locate_arrays[] = {{"thread_id", sizeof(int32_t)},
                                                     {"pu", sizeof(int32_t)},
                                                     {"numa_node", sizeof(int32_t)},
                                                     {"seen_pu", sizeof(int32_t)}};

static size_t no_bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void no_advance(struct numalab_oracle *oracle, const char *phase)
{
    (void)oracle;
    (void)phase;
}

static int no_change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                     struct numalab_change *change)
{
    (void)random_value;
    *change = (struct numalab_change){.element = (size_t)(random_position % oracle->n)};
    return 0;
}

static size_t accept_all(const struct numalab_oracle *oracle, size_t array, size_t first,
                         size_t count, const void *actual, struct numalab_mismatch *mismatch)
{
    (void)oracle;
    (void)array;
    (void)first;
    (void)count;
    (void)actual;
    (void)mismatch;
    return 0;
}

static const struct numalab_driver locate = {
    .lab = "02_affinity",
    .part = "locate",
    .arrays = locate_arrays,
    .array_count = sizeof locate_arrays / sizeof locate_arrays[0],
    .initialize_phase = "clear",
    .compute_phase = "locate",
    .largest_check_n = 100, /* no loop over them: each thread writes to its own */
    .bytes_moved = no_bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = no_advance,
    .change = no_change,
    .compare = accept_all,
};

const struct numalab_driver *const numalab_drivers[] = {&stream, &locate, NULL};
