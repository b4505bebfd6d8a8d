#define _GNU_SOURCE
#include "residency.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "record.h"

enum { PAGES_PER_CALL = 512 };

/* NUMA node of each page of a block by move_pages in query mode; -1 for a page that is absent. */
static int read_block(const struct numalab_worker *worker, uint64_t address, int *numa_node,
                      size_t page_count)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    void *page[PAGES_PER_CALL];
    for (size_t first = 0; first < page_count; first += PAGES_PER_CALL) {
        size_t count = page_count - first < PAGES_PER_CALL ? page_count - first : PAGES_PER_CALL;
        for (size_t i = 0; i < count; i++)
            page[i] = (void *)(uintptr_t)(address + (first + i) * page_bytes);
        if (syscall(SYS_move_pages, worker->pid, count, page, NULL, numa_node + first, 0) < 0)
            return -errno;
        for (size_t i = first; i < first + count; i++)
            if (numa_node[i] < 0) numa_node[i] = -1;
    }
    return 0;
}

/* Adds an array to the list. */
static int add_array(json_t *list, const struct numalab_worker *worker, size_t array,
                     const char *name, const struct numalab_sample *sample)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    int *numa_node = malloc(sample->traced_count * sizeof *numa_node);
    int error = numa_node ? 0 : -ENOMEM;
    for (size_t i = 0; error == 0 && i < sample->block_count; i++) {
        const struct numalab_block *block = &sample->block[i];
        error = read_block(worker, worker->address[array] + block->first_page * page_bytes,
                           numa_node + block->preceding_pages, block->page_count);
    }
    if (error == 0) {
        json_t *entry = json_pack("{ss so}", "array", name, "numa_node",
                                  numalab_record_runs(numa_node, sample->traced_count));
        numalab_sample_describe(sample, entry);
        json_array_append_new(list, entry);
    }
    free(numa_node);
    return error;
}

json_t *numalab_residency_describe(const struct numalab_worker *worker,
                                   const struct numalab_driver *driver,
                                   const struct numalab_sampling *sampling)
{
    struct numalab_sample sample[NUMALAB_MAX_ARRAYS];
    json_t *list = json_array();
    int error = numalab_sample_draw_all(sample, sampling, driver, worker->bytes);
    if (error < 0) {
        json_decref(list);
        return json_null();
    }
    for (size_t i = 0; i < driver->array_count; i++) {
        /* Arrays below a page are left out, as in the touch map. */
        if (error == 0 && sample[i].traced_count)
            error = add_array(list, worker, i, driver->arrays[i].name, &sample[i]);
        numalab_sample_free(&sample[i]);
    }
    if (error == 0) return list;
    /* Refused by the system: the record says nothing of residency. */
    json_decref(list);
    return json_null();
}

json_t *numalab_residency_by_node(const struct numalab_worker *worker, uint64_t address,
                                  size_t bytes)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), begin = address / page_bytes;
    const size_t page_count = (size_t)((address + bytes - 1) / page_bytes - begin + 1);
    int *numa_node = malloc(page_count * sizeof *numa_node);
    json_t *list = json_array();
    const bool is_known =
        numa_node && read_block(worker, begin * page_bytes, numa_node, page_count) == 0;
    /* A node for each round: the lowest that is above those that were counted. */
    for (int node = -2, next = -1; is_known && next >= -1 && next != node;) {
        size_t count = 0;
        node = next;
        for (size_t i = 0; i < page_count; i++) {
            count += numa_node[i] == node;
            if (numa_node[i] > node && (next == node || numa_node[i] < next)) next = numa_node[i];
        }
        if (count) json_array_append_new(list, json_pack("[iI]", node, (json_int_t)count));
    }
    free(numa_node);
    if (is_known) return list;
    json_decref(list);
    return json_null();
}
