/* The driver of the tests: one array x of double, and no oracle of interest. */
#include "numalab/driver.h"

#include <stdlib.h>

struct numalab_oracle {
    size_t n;
};

static const struct numalab_array arrays[] = {{"x", sizeof(double)}};

static size_t bytes_moved(size_t n)
{
    return n * sizeof(double);
}

static struct numalab_oracle *create(size_t n)
{
    struct numalab_oracle *oracle = malloc(sizeof *oracle);
    if (oracle) oracle->n = n;
    return oracle;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle);
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    (void)oracle;
    (void)phase;
}

static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    change->array = 0;
    change->element = (size_t)(random_position % oracle->n);
    change->value[0] = (unsigned char)random_value;
    return 0;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    (void)oracle;
    (void)array;
    (void)first;
    (void)count;
    (void)actual;
    (void)mismatch;
    return 0;
}

static const struct numalab_driver driver = {
    .lab = "tests",
    .arrays = arrays,
    .array_count = 1,
    .initialize_phase = "initialize",
    .compute_phase = "compute",
    .timed_n = {0, 0, 1000},
    .bytes_moved = bytes_moved,
    .create = create,
    .destroy = destroy,
    .advance = advance,
    .change = change,
    .compare = compare,
};

const struct numalab_driver *const numalab_drivers[] = {&driver, NULL};
