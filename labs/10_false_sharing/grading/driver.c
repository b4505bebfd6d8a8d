/* Lab 10: the keys, how many there are of each, and where threads say that they count. */
#include "numalab/driver.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

enum { KEYS, COUNTS, SLOTS };
enum { PAGE_KEYS = NUMALAB_SMALL_PAGE_BYTES / sizeof(int32_t) };

struct numalab_oracle {
    size_t n;
    int32_t *key;
    int64_t present[BINS]; /* of the keys as they are now */
    int64_t counted[BINS]; /* ... as they were when count ran last */
    bool has_counted;
};

static const struct numalab_array arrays[] = {
    [KEYS] = {"keys", sizeof(int32_t)},
    [COUNTS] = {"bins", sizeof(int64_t)},
    [SLOTS] = {"slots", sizeof(struct slot)},
};

/* Counters set the pace, wherever they are. */
static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle->key);
    free(oracle);
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->n = n;
    oracle->key = calloc(n, sizeof *oracle->key);
    if (!oracle->key) {
        destroy(oracle);
        return NULL;
    }
    return oracle;
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "initialize") == 0) {
        memset(oracle->present, 0, sizeof oracle->present);
        for (size_t i = 0; i < oracle->n; i++) {
            oracle->key[i] = initial_key(i);
            oracle->present[oracle->key[i]]++;
        }
        oracle->has_counted = false;
    } else if (strcmp(phase, "count") == 0) {
        memcpy(oracle->counted, oracle->present, sizeof oracle->counted);
        oracle->has_counted = true;
    }
}

static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    const size_t element = (size_t)(random_position % oracle->n);
    const int32_t key = (int32_t)(random_value % BINS);
    oracle->present[oracle->key[element]]--;
    oracle->present[key]++;
    oracle->key[element] = key;
    change->array = KEYS;
    change->element = element;
    memcpy(change->value, &key, sizeof key);
    return 0;
}

static int64_t expected_of(const struct numalab_oracle *oracle, size_t array, size_t element)
{
    if (array == KEYS) return oracle->key[element];
    return oracle->has_counted && element < BINS ? oracle->counted[element] : initial_count;
}

/* What a kernel says of its slots is no result: it is looked at where its stores are. */
static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t i = 0; i < count && array != SLOTS; i++) {
        const size_t element = first + i;
        const int64_t expected = expected_of(oracle, array, element);
        const int64_t value =
            array == KEYS ? ((const int32_t *)actual)[i] : ((const int64_t *)actual)[i];
        if (value != expected && mismatches++ == 0)
            *mismatch = numalab_make_signed_mismatch(array, element, expected, value);
    }
    return mismatches;
}

static const struct numalab_counting counting = {
    .sums = COUNTS,
    .slots = SLOTS,
    .length = BINS,
    .slots_phase = "slots",
};

static const struct numalab_driver driver = {
    .lab = "10_false_sharing",
    .arrays = arrays,
    .array_count = sizeof arrays / sizeof arrays[0],
    .initialize_phase = "initialize",
    .compute_phase = "count",
    .timed_n = {4000000, 16000000, 16000000},
    .elements_per_change = PAGE_KEYS,
    .counting = &counting,
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
