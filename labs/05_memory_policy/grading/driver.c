/* Lab 05: the arrays, and what they should hold. */
#include "numalab/driver.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

enum { TABLE, BLOCKS, MATRIX, STREAM, OTHERS, SUMS, ARRAYS };
enum { MOST_CHANGED_TO = 1009 };

struct numalab_oracle {
    size_t n;
    uint64_t *array[ARRAYS];
    bool has_computed; /* then after holds something */
};

static const struct numalab_array arrays[ARRAYS] = {
    [TABLE] = {"table", sizeof(uint64_t)},   [BLOCKS] = {"blocks", sizeof(uint64_t)},
    [MATRIX] = {"matrix", sizeof(uint64_t)}, [STREAM] = {"stream", sizeof(uint64_t)},
    [OTHERS] = {"others", sizeof(uint64_t)}, [SUMS] = {"after", sizeof(uint64_t)},
};

/* Most of what compute waits for are loads from anywhere in the table. */
static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void destroy(struct numalab_oracle *oracle)
{
    for (size_t k = 0; k < ARRAYS; k++) free(oracle->array[k]);
    free(oracle);
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->n = n;
    for (size_t k = 0; k < ARRAYS; k++) {
        oracle->array[k] = calloc(n, sizeof(uint64_t));
        if (!oracle->array[k]) {
            destroy(oracle);
            return NULL;
        }
    }
    return oracle;
}

static void write_matrix(struct numalab_oracle *oracle, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) oracle->array[MATRIX][i] = matrix_value(i);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    const size_t n = oracle->n;
    uint64_t *const *array = oracle->array;
    if (strcmp(phase, "initialize") == 0) {
        for (size_t i = 0; i < n; i++) {
            array[TABLE][i] = table_value(i);
            array[BLOCKS][i] = blocks_value(i);
            array[STREAM][i] = stream_value(i);
            array[OTHERS][i] = others_value(i);
        }
        write_matrix(oracle, 0, n);
        oracle->has_computed = false;
    } else if (strcmp(phase, "compute") == 0) {
        oracle->has_computed = true;
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < LOOKUPS; k++)
                array[BLOCKS][i] += array[TABLE][table_index(i, k, n)];
            array[STREAM][i] += array[OTHERS][i];
            array[SUMS][i] = array[BLOCKS][i] + array[STREAM][i];
        }
    } else if (strcmp(phase, "write_first") == 0) {
        write_matrix(oracle, 0, written_before(n));
    } else if (strcmp(phase, "write_rest") == 0) {
        write_matrix(oracle, written_before(n), n);
    }
}

static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    change->array = TABLE;
    change->element = (size_t)(random_position % oracle->n);
    const uint64_t value = random_value % MOST_CHANGED_TO;
    oracle->array[TABLE][change->element] = value;
    memcpy(change->value, &value, sizeof value);
    return 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual_pointer, struct numalab_mismatch *mismatch)
{
    const uint64_t *actual = actual_pointer, *expected = oracle->array[array] + first;
    size_t mismatches = 0;
    if (array == SUMS && !oracle->has_computed) return 0;
    if (memcmp(actual, expected, count * sizeof *actual) == 0) return 0;
    for (size_t i = 0; i < count; i++)
        if (actual[i] != expected[i] && mismatches++ == 0)
            *mismatch = numalab_make_unsigned_mismatch(array, first + i, expected[i], actual[i]);
    return mismatches;
}

static const struct numalab_memory_policy memory_policy = {
    .matrix = MATRIX,
    .thread_nodes = OTHERS,
    .control = OTHERS,
    .thread_nodes_phase = "roll",
    .first_phase = "write_first",
    .hand_over_phase = "hand_over",
    .rest_phase = "write_rest",
};

static const struct numalab_driver driver = {
    .lab = "05_memory_policy",
    .arrays = arrays,
    .array_count = ARRAYS,
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    /* A table of 64 MiB or more, which is larger than caches that a core loads from. */
    .timed_n = {(size_t)1 << 23, (size_t)1 << 24, (size_t)1 << 26},
    .evidence_n = (size_t)1 << 19, /* all pages are looked at */
    .memory_policy = &memory_policy,
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
