#include "monitor/sizing.h"

#include <unistd.h>

#include "expect.h"

static int failures;

/* Sizes for a lab with arrays of float, like three of them, on invented nodes. */
static const struct numalab_array floats[] = {{"a", 4}, {"b", 4}, {"c", 4}};
static const struct numalab_driver driver = {
    .arrays = floats, .array_count = 3, .timed_n = {0, 0, (size_t)1 << 29}};

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

    n = numalab_traced_n(&driver, numalab_traced_pages(NUMALAB_DEFAULT), 2, 1);
    EXPECT(n % (page_elements * 2) == 0);
    EXPECT(3 * n / page_elements <= 16384 && 3 * n / page_elements > 16000);
    n = numalab_traced_n(&driver, numalab_traced_pages(NUMALAB_QUICK), 16, 1);
    EXPECT(n / page_elements == 16 * 42);
    n = numalab_traced_n(&driver, numalab_traced_pages(NUMALAB_QUICK), 64, 1);
    EXPECT(n / page_elements == 64 * 40);
    /* With several NUMA nodes it is the nodes that get 40 pages, and threads at least 8. */
    n = numalab_traced_n(&driver, 384, 8, 2);
    EXPECT(n / page_elements == 8 * 16);
    n = numalab_traced_n(&driver, 384, 16, 8);
    EXPECT(n / page_elements == 16 * 20);
    n = numalab_traced_n(&driver, 384, 64, 2);
    EXPECT(n / page_elements == 64 * 8);
    n = numalab_traced_n(&driver, 384, 4, 8);
    EXPECT(n / page_elements == 4 * 40);
    n = numalab_traced_n(&driver, numalab_traced_pages(NUMALAB_DEFAULT), 1024, 1);
    EXPECT(3 * n / page_elements <= 16384 && n % (page_elements * 1024) == 0);

    enum numalab_size size;
    EXPECT(numalab_size_parse("published", &size) == 0 && size == NUMALAB_PUBLISHED);
    EXPECT(numalab_size_parse("huge", &size) < 0);
    return failures > 0;
}
