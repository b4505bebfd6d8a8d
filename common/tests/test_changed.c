/* The list of changed elements finds each by its element, however it has grown. */
#include "numalab/changed.h"

#include <stdint.h>

#include "expect.h"

static int failures;

struct entry {
    size_t element;
    double value[2];
};

enum { COUNT = 1000, STRIDE = 7919, N = 20011 }; /* 7919 is prime: no element comes twice */

static size_t nth_element(size_t i)
{
    return i * STRIDE % N;
}

static void fill(struct numalab_changed *changed)
{
    for (size_t i = 0; i < COUNT; i++) {
        const struct entry fresh = {nth_element(i), {(double)i, -(double)i}};
        const struct entry *entry = numalab_changed_add(changed, &fresh);
        EXPECT(entry && entry->element == fresh.element && entry->value[1] == fresh.value[1]);
    }
}

static void test_entries(struct numalab_changed *changed)
{
    EXPECT(numalab_changed_find(changed, 0) == NULL);
    fill(changed);
    EXPECT(changed->count == COUNT && changed->room >= COUNT);

    /* In the order in which they came, and whole, though the list has moved. */
    const struct entry *entries = changed->entries;
    for (size_t i = 0; i < COUNT; i++) {
        EXPECT(entries[i].element == nth_element(i));
        EXPECT(entries[i].value[0] == (double)i && entries[i].value[1] == -(double)i);
        EXPECT(numalab_changed_find(changed, nth_element(i)) == &entries[i]);
    }
    EXPECT(numalab_changed_find(changed, nth_element(COUNT)) == NULL);

    /* A second change finds the first one's entry, with what it holds. */
    const struct entry again = {nth_element(3), {99.0, 99.0}};
    EXPECT(numalab_changed_add(changed, &again) == &entries[3]);
    EXPECT(entries[3].value[0] == 3.0 && changed->count == COUNT);
}

/* Against the definition, for ranges that begin and end on entries and beside them. */
static void test_collect(const struct numalab_changed *changed)
{
    static const void *here[N];
    const size_t sizes[] = {1, 2, 19, 1024, 4096, N};
    EXPECT(numalab_changed_collect(changed, 0, 0, here) == 0);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (size_t first = 0; first + sizes[s] <= N; first += 1 + sizes[s] / 2) {
            const size_t count = numalab_changed_collect(changed, first, sizes[s], here);
            size_t present = 0, mismatches = 0;
            for (size_t i = 0; i < sizes[s]; i++)
                present += numalab_changed_find(changed, first + i) != NULL;
            for (size_t i = 0; i < count; i++) {
                const struct entry *entry = here[i];
                mismatches += entry->element < first || entry->element >= first + sizes[s];
                mismatches += numalab_changed_find(changed, entry->element) != here[i];
                for (size_t k = 0; k < i && sizes[s] < N; k++) mismatches += here[k] == here[i];
            }
            EXPECT(count == present && mismatches == 0);
        }
}

static void test_forgetting(struct numalab_changed *changed)
{
    const void *here[1] = {NULL};
    const size_t room = changed->room;
    numalab_changed_clear(changed);
    EXPECT(changed->count == 0 && changed->room == room);
    EXPECT(numalab_changed_find(changed, nth_element(0)) == NULL);
    EXPECT(numalab_changed_collect(changed, nth_element(0), 1, here) == 0);

    /* What an element held before is forgotten with it. */
    const struct entry fresh = {nth_element(5), {42.0, 43.0}};
    const struct entry *entry = numalab_changed_add(changed, &fresh);
    EXPECT(entry && entry->value[0] == 42.0 && changed->count == 1);

    numalab_changed_free(changed);
    EXPECT(changed->count == 0 && changed->room == 0 && changed->entries == NULL);
    EXPECT(changed->entry_bytes == sizeof(struct entry));
    fill(changed);
    EXPECT(changed->count == COUNT);
    numalab_changed_free(changed);
}

/* More than can be addressed, which no allocator has to be asked for. */
static void test_no_memory(void)
{
    struct numalab_changed changed = {.entry_bytes = SIZE_MAX / 2};
    const struct entry fresh = {0};
    EXPECT(numalab_changed_add(&changed, &fresh) == NULL);
    EXPECT(changed.count == 0 && changed.room == 0 && changed.entries == NULL);
    EXPECT(numalab_changed_find(&changed, 0) == NULL);
}

int main(void)
{
    struct numalab_changed changed = {.entry_bytes = sizeof(struct entry)};
    test_entries(&changed);
    test_collect(&changed);
    test_forgetting(&changed);
    test_no_memory();
    return failures > 0;
}
