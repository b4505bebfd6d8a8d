/* The oracle of lab 04 finds what is wrong, and nothing else; the updates are what the
 * lab says they are. */
#include <stdlib.h>
#include <string.h>

#include "numalab/driver.h"
#include "tests/expect.h"
#include "updates.h"

static int failures;

/* One round of a call of update, one slice after another. Returns the number of visits. */
static size_t update_once(size_t n, uint64_t *table)
{
    size_t visits = 0;
    for (size_t i = 0; i < UPDATES_SLICES; i++) {
        struct updates_slice slice = updates_start(n, i);
        for (size_t step = 0; step < updates_steps(n); step++) {
            const size_t position = (size_t)updates_step(&slice);
            if (position >= slice.count) continue;
            table[slice.first + position] += updates_added(slice.first + position);
            visits++;
        }
    }
    return visits;
}

static size_t update(size_t n, uint64_t *table)
{
    size_t visits = 0;
    for (size_t round = 0; round < UPDATES_ROUNDS; round++) visits = update_once(n, table);
    return visits;
}

static size_t count_mismatches(const struct numalab_oracle *oracle, size_t n, size_t chunk,
                             const uint64_t *table, struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t first = 0; first < n; first += chunk) {
        struct numalab_mismatch here;
        const size_t count = n - first < chunk ? n - first : chunk;
        const size_t actual =
            numalab_drivers[0]->compare(oracle, 0, first, count, table + first, &here);
        if (actual && !mismatches) *mismatch = here;
        mismatches += actual;
    }
    return mismatches;
}

/* Slices follow each other without a gap, and differ by one element at most. */
static void test_slices(size_t n)
{
    EXPECT(updates_first(n, 0) == 0 && updates_first(n, UPDATES_SLICES) == n);
    for (size_t i = 0; i < UPDATES_SLICES; i++) {
        const struct updates_slice slice = updates_start(n, i);
        EXPECT(slice.count - n / UPDATES_SLICES <= 1);
        EXPECT(slice.first + slice.count == updates_first(n, i + 1));
        if (slice.count == 0) continue;
        EXPECT(slice.count <= slice.mask + 1 && slice.count * 2 > slice.mask);
        EXPECT(updates_steps(n) <= slice.mask + 1);
    }
}

/* The sequence comes to every position of its power of two once before it repeats. */
static void test_period(void)
{
    enum { MOST = 1 << 19 };
    static unsigned char seen[MOST];
    for (size_t count = 1; count <= MOST; count *= 2) {
        struct updates_slice slice = {.count = count, .mask = updates_mask(count),
                                      .position = 12345};
        EXPECT(slice.mask == count - 1);
        memset(seen, 0, sizeof seen);
        size_t different = 0;
        for (size_t step = 0; step < count; step++) {
            const uint64_t position = updates_step(&slice);
            EXPECT(position < count);
            if (position < count && !seen[position]++) different++;
        }
        EXPECT(different == count);
    }
}

/* No element is visited twice per round, and about one in so many is. */
static void test_visits(size_t n, size_t least, size_t most)
{
    uint64_t *table = calloc(n, sizeof *table);
    const size_t visits = update_once(n, table);
    size_t visited = 0;
    for (size_t i = 0; i < n; i++) {
        EXPECT(table[i] == 0 || table[i] == updates_added(i));
        visited += table[i] != 0;
    }
    EXPECT(visited == visits);
    EXPECT(visits >= least && visits <= most);
    free(table);
}

static void test_oracle(size_t n)
{
    struct numalab_mismatch mismatch;
    struct numalab_oracle *oracle = numalab_drivers[0]->create(n);
    uint64_t *table = calloc(n, sizeof *table);
    const size_t chunks[] = {77, 1000, 4096, n};
    EXPECT(oracle != NULL);

    numalab_drivers[0]->advance(oracle, "zero");
    for (size_t repetition = 0; repetition < 3; repetition++) {
        for (uint64_t i = 0; i < 40; i++) {
            struct numalab_change change;
            EXPECT(numalab_drivers[0]->change(oracle, 7919 * (i + 40 * repetition), 31 * i + 5,
                                              &change) == 0);
            EXPECT(change.array == 0 && change.element < n);
            memcpy(&table[change.element], change.value, sizeof *table);
        }
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
            EXPECT(count_mismatches(oracle, n, chunks[i], table, &mismatch) == 0);
        update(n, table);
        numalab_drivers[0]->advance(oracle, "update");
        for (size_t i = 0; i < sizeof chunks / sizeof chunks[0]; i++)
            EXPECT(count_mismatches(oracle, n, chunks[i], table, &mismatch) == 0);
    }

    /* One element off, visited or not, changed or not, is found and named. */
    const size_t places[] = {0, 1, 63, 64, 4095, 4096, 7919, n / 2, n - 1};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        const size_t place = places[i] % n;
        const uint64_t kept = table[place];
        table[place] = kept + 1;
        for (size_t k = 0; k < sizeof chunks / sizeof chunks[0]; k++)
            EXPECT(count_mismatches(oracle, n, chunks[k], table, &mismatch) == 1);
        EXPECT(mismatch.array == 0 && mismatch.element == place);
        EXPECT(mismatch.expected == (double)kept && mismatch.actual == (double)(kept + 1));
        table[place] = kept;
    }

    /* A change that the table did not get; an update that it did not get. */
    struct numalab_change change;
    EXPECT(numalab_drivers[0]->change(oracle, n - 1, table[n - 1] + 1, &change) == 0);
    EXPECT(count_mismatches(oracle, n, 4096, table, &mismatch) == 1);
    EXPECT(mismatch.element == n - 1);
    memcpy(&table[n - 1], change.value, sizeof *table);
    numalab_drivers[0]->advance(oracle, "update");
    uint64_t *once = calloc(n, sizeof *once);
    EXPECT(count_mismatches(oracle, n, 1000, table, &mismatch) == update(n, once));
    numalab_drivers[0]->advance(oracle, "zero");
    memset(table, 0, n * sizeof *table);
    EXPECT(count_mismatches(oracle, n, 1000, table, &mismatch) == 0);
    free(once);
    free(table);
    numalab_drivers[0]->destroy(oracle);
}

int main(void)
{
    const size_t sizes[] = {1, 7, 255, 256, 257, 1000, 4099, 100003, 600011, (size_t)1 << 22};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_slices(sizes[i]);
        test_oracle(sizes[i]);
    }
    test_slices((size_t)1 << 27);
    test_period();
    test_visits(1, 1, 1);
    test_visits(7, 7, 7);
    test_visits(1000, 100, 256);
    test_visits(600011, 600011 / 640, 600011 / 400);
    test_visits((size_t)1 << 22, 1 << 13, 1 << 13);
    EXPECT(numalab_drivers[0]->bytes_moved((size_t)1 << 22) == 0);
    return failures > 0;
}
