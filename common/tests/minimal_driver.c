/* The smallest driver, which CONTRIBUTING.md shows: compute adds 1 to each element of x. */
#include "numalab/driver.h"

#include <stdlib.h>
#include <string.h>

struct numalab_oracle {
    size_t n;
    double x[]; /* what x should hold: whole numbers, so they are compared bit for bit */
};

static const struct numalab_array arrays[] = {{"x", sizeof(double)}};

static size_t bytes_moved(size_t n)
{
    return 2 * n * sizeof(double); /* x is read and written */
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = malloc(sizeof *oracle + n * sizeof oracle->x[0]);
    if (oracle) oracle->n = n;
    return oracle;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    const bool is_initialize = strcmp(phase, "initialize") == 0;
    for (size_t i = 0; i < oracle->n; i++)
        oracle->x[i] = is_initialize ? (double)(i % 7) : oracle->x[i] + 1.0;
}

static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    *change = (struct numalab_change){.element = (size_t)(random_position % oracle->n)};
    oracle->x[change->element] = (double)(random_value % 1000);
    memcpy(change->value, &oracle->x[change->element], sizeof(double));
    return 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    const double *value = actual, *expected = oracle->x + first;
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++)
        if (!(value[i] == expected[i]) && mismatches++ == 0) /* negated, so that NaN differs */
            *mismatch = (struct numalab_mismatch){array, first + i, expected[i], value[i], "", ""};
    return mismatches;
}

static const struct numalab_driver driver = {
    .lab = "NN_name",
    .arrays = arrays,
    .array_count = 1,
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
