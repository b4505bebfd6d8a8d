/* Where pages live is told for each of them, and of none that was not touched. */
#include "monitor/residency.h"

#include <unistd.h>

#include "expect.h"

static int failures;

enum { N = 100003 }; /* ends with a page, and does not begin with one */

static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 1};

/* Pages on a NUMA node, by the list; -1: it is not known. */
static json_int_t pages_on(const json_t *list, int node)
{
    size_t i;
    const json_t *entry;
    if (!json_is_array(list)) return -1;
    json_array_foreach(list, i,
                       entry) if (json_integer_value(json_array_get(entry, 0)) ==
                                  node) return json_integer_value(json_array_get(entry, 1));
    return 0;
}

static json_int_t pages_in_all(const json_t *list)
{
    size_t i;
    const json_t *entry;
    json_int_t sum = 0;
    json_array_foreach(list, i, entry) sum += json_integer_value(json_array_get(entry, 1));
    return sum;
}

int main(void)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes = N * sizeof(double);
    const json_int_t pages = (json_int_t)((bytes + page_bytes - 1) / page_bytes);
    struct numalab_worker worker;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, N, numalab_drivers[0], NUMALAB_ANONYMOUS) == 0);

    json_t *before = numalab_residency_by_node(&worker, worker.address[0], bytes);
    if (json_is_null(before)) return 77; /* this system refuses move_pages */
    EXPECT(pages_on(before, -1) == pages && pages_in_all(before) == pages);

    EXPECT(numalab_worker_run(&worker, "initialize", NULL) == 0);
    json_t *after = numalab_residency_by_node(&worker, worker.address[0], bytes);
    EXPECT(pages_on(after, -1) == 0 && pages_in_all(after) == pages);

    /* One byte is a page; what is no memory has none. */
    json_t *one = numalab_residency_by_node(&worker, worker.address[0], 1);
    EXPECT(pages_in_all(one) == 1 && pages_on(one, -1) == 0);
    json_t *none = numalab_residency_by_node(&worker, 0, 1);
    EXPECT(pages_on(none, -1) == 1);

    json_decref(before);
    json_decref(after);
    json_decref(one);
    json_decref(none);
    numalab_worker_end(&worker);
    return failures > 0;
}
