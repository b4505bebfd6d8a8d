#include "monitor/sizing.h"

#include <unistd.h>

#include "expect.h"

static int failures;

/* Sizes for a lab with arrays of float, like three of them, on invented nodes. */
static const struct numalab_array floats[] = {{"a", 4}, {"b", 4}, {"c", 4}};
static const struct numalab_driver driver = {
    .arrays = floats, .array_count = 3, .timed_n = {0, 0, (size_t)1 << 29}};

/* Of a team on a machine with much memory, and so many NUMA nodes. */
static size_t traced_n(size_t team, size_t numa_nodes, uint64_t seed)
{
    const struct numalab_node node = {.memory_bytes = (uint64_t)64 << 30,
                                      .numa_node_count = numa_nodes};
    return numalab_traced_n(&driver, &node, &(struct numalab_sampling){seed, 2048, team});
}

static void test_traced_n(size_t page_elements)
{
    static const size_t teams[] = {1, 2, 3, 6, 8, 16, 64, 96, 128, 1024};
    for (size_t i = 0; i < sizeof teams / sizeof teams[0]; i++)
        for (uint64_t seed = 0; seed < 1000; seed++) {
            const size_t n = traced_n(teams[i], 1, seed);
            EXPECT(n >= NUMALAB_LEAST_TRACED_N && n % (page_elements * teams[i]) == 0);
            EXPECT(n == traced_n(teams[i], 1, seed));
        }
    /* It differs from seed to seed, by an eighth at most. */
    size_t lowest = traced_n(2, 1, 0), highest = lowest;
    for (uint64_t seed = 1; seed < 1000; seed++) {
        const size_t n = traced_n(2, 1, seed);
        lowest = n < lowest ? n : lowest;
        highest = n > highest ? n : highest;
    }
    EXPECT(lowest == NUMALAB_LEAST_TRACED_N && highest == lowest / 8 * 9);
    /* Many threads: each still gets 40 pages of each array, or with several NUMA nodes each node;
     * above that all arrays together have 16,384 where that leaves a page for each thread. */
    EXPECT(traced_n(128, 1, 0) / page_elements >= 128 * 40);
    EXPECT(traced_n(64, 8, 0) / page_elements < 64 * 40);
    EXPECT(3 * traced_n(1024, 1, 0) / page_elements <= 16384);
    /* Little memory: less, in whole pages for each thread. */
    const struct numalab_node tiny = {.memory_bytes = (uint64_t)32 << 20, .numa_node_count = 2};
    const size_t n = numalab_traced_n(&driver, &tiny, &(struct numalab_sampling){1, 2048, 8});
    EXPECT(n < NUMALAB_LEAST_TRACED_N && n % (page_elements * 8) == 0);
    EXPECT(numalab_sizing_bytes(&driver, n) <= (uint64_t)8 << 20);
    EXPECT(numalab_sixteenth_n(&driver, 17 * 8 * page_elements, 8) == 8 * page_elements);
    EXPECT(numalab_sixteenth_n(&driver, 33 * 8 * page_elements, 8) == 16 * page_elements);
    /* A driver's own, and the one of few pages. */
    const struct numalab_driver fixed = {
        .arrays = floats, .array_count = 3, .evidence_n = 1022, .few_pages_n = 510};
    EXPECT(numalab_traced_n(&fixed, &tiny, &(struct numalab_sampling){1, 2048, 8}) == 1022);
    EXPECT(numalab_traced_n(&fixed, &tiny, &(struct numalab_sampling){1, 192, 8}) == 510);
}

int main(void)
{
    const uint64_t mib = 1 << 20, gib = 1 << 30;
    const size_t page_elements = (size_t)sysconf(_SC_PAGESIZE) / 4;
    const struct numalab_node roomy = {.last_level_cache_bytes = 64 * mib,
                                       .memory_bytes = 64 * gib};
    const struct numalab_node tight = {.last_level_cache_bytes = 512 * mib,
                                       .memory_bytes = 4 * gib};

    EXPECT(numalab_sizing_bytes(&driver, (size_t)1 << 29) == 6 * gib);
    size_t n = numalab_timed_n(&driver, &roomy, NUMALAB_DEFAULT, 8);
    EXPECT(numalab_sizing_bytes(&driver, n) <= 256 * mib &&
           numalab_sizing_bytes(&driver, n) > 250 * mib);
    EXPECT(n % (page_elements * 8) == 0);

    n = numalab_timed_n(&driver, &tight, NUMALAB_DEFAULT, 2);
    EXPECT(numalab_sizing_bytes(&driver, n) <= 512 * mib &&
           numalab_sizing_bytes(&driver, n) > 500 * mib);

    n = numalab_timed_n(&driver, &roomy, NUMALAB_QUICK, 2);
    EXPECT(numalab_sizing_bytes(&driver, n) <= 96 * mib);
    EXPECT(numalab_timed_n(&driver, &roomy, NUMALAB_PUBLISHED, 8) == (size_t)1 << 29);

    /* Many threads: each still gets 40 pages of each array. */
    n = numalab_timed_n(&driver, &roomy, NUMALAB_QUICK, 1024);
    EXPECT(n / page_elements >= 40 * 1024);

    test_traced_n(page_elements);
    EXPECT(numalab_traced_pages(NUMALAB_DEFAULT) > numalab_traced_pages(NUMALAB_QUICK));

    enum numalab_size size;
    EXPECT(numalab_size_parse("published", &size) == 0 && size == NUMALAB_PUBLISHED);
    EXPECT(numalab_size_parse("huge", &size) < 0);
    return failures > 0;
}
