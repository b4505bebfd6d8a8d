#define _GNU_SOURCE
#include "residency.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

enum { PAGES_PER_CALL = 512 };

/* NUMA node of each page of an array by move_pages in query mode; -1 for a page
 * that is absent. */
static int read_residency(const struct numalab_worker *worker, size_t array, int *numa_node,
                          size_t page_count)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    void *page[PAGES_PER_CALL];
    for (size_t first = 0; first < page_count; first += PAGES_PER_CALL) {
        size_t count = page_count - first < PAGES_PER_CALL ? page_count - first : PAGES_PER_CALL;
        for (size_t i = 0; i < count; i++)
            page[i] = (void *)(uintptr_t)(worker->address[array] + (first + i) * page_bytes);
        if (syscall(SYS_move_pages, worker->pid, count, page, NULL, numa_node + first, 0) < 0)
            return -errno;
        for (size_t i = first; i < first + count; i++)
            if (numa_node[i] < 0) numa_node[i] = -1;
    }
    return 0;
}

json_t *numalab_residency_describe(const struct numalab_worker *worker,
                                   const struct numalab_driver *driver)
{
    json_t *list = json_array();
    for (size_t i = 0; i < driver->array_count; i++) {
        size_t pages = worker->bytes[i] / (size_t)sysconf(_SC_PAGESIZE);
        if (!pages) continue; /* as in the touch map */
        int *numa_node = malloc(pages * sizeof *numa_node);
        int error = numa_node ? read_residency(worker, i, numa_node, pages) : -ENOMEM;
        if (error == 0)
            json_array_append_new(list,
                                  json_pack("{ss so}", "array", driver->arrays[i].name, "numa_node",
                                            numalab_record_runs(numa_node, pages)));
        free(numa_node);
        if (error < 0) {
            /* Refused by the system: the record says nothing of residency. */
            json_decref(list);
            return json_null();
        }
    }
    return list;
}
