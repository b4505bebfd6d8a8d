#include <errno.h>
#include <unistd.h>

#include "monitor/memory.h"
#include "monitor/record.h"
#include "monitor/results.h"
#include "runs.h"

/* The first table is a few huge pages large and a little more: so one that does not start at
 * the border of a huge page shows, and newer kernels, which put sizes of whole huge pages there
 * by themselves, do no student's work. It also starts the team and the allocator. */
enum { TABLES = 2 };
static const uint64_t first_bytes = ((uint64_t)8 << 20) + ((uint64_t)64 << 10);

/* One life of the kernel's arrays. */
struct table {
    size_t n;
    uint64_t bytes, huge_bytes, advised_bytes;
    uint64_t page_offset_bytes; /* of the first array, past the start of a page */
    double create_s, initialize_s, compute_s;
    struct numalab_memory before, created, initialized, after;
    int is_complete;
};

struct memory_run {
    struct numalab_worker worker;
    struct numalab_results results;
    struct table table[TABLES];
};

static int read_memory(struct numalab_worker *worker, struct numalab_memory *memory)
{
    int error = numalab_memory_read(worker->pid, memory);
    return error < 0 ? numalab_worker_kit_error(worker, "read the worker's memory use", error) : 0;
}

static int live(struct numalab_worker *worker, const struct numalab_driver *driver,
                struct numalab_oracle *oracle, struct table *table,
                struct numalab_results *results)
{
    if (read_memory(worker, &table->before) < 0 ||
        numalab_worker_allocate(worker, table->n, driver, NUMALAB_ANONYMOUS) < 0)
        return -1;
    table->create_s = worker->elapsed_s;
    if (read_memory(worker, &table->created) < 0 ||
        numalab_worker_run(worker, driver->initialize_phase, NULL) < 0)
        return -1;
    table->initialize_s = worker->elapsed_s;
    driver->advance(oracle, driver->initialize_phase);
    if (read_memory(worker, &table->initialized) < 0) return -1;
    for (size_t i = 0; i < worker->array_count; i++) {
        struct numalab_huge_pages found;
        int error = numalab_memory_huge_pages(worker->pid, worker->address[i],
                                              worker->bytes[i], &found);
        if (error < 0) return numalab_worker_kit_error(worker, "read smaps", error);
        table->huge_bytes += found.bytes;
        table->advised_bytes += found.advised_bytes;
        table->bytes += worker->bytes[i];
    }
    table->page_offset_bytes = worker->address[0] % (uint64_t)sysconf(_SC_PAGESIZE);
    if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0) return -1;
    table->compute_s = worker->elapsed_s;
    driver->advance(oracle, driver->compute_phase);
    if (numalab_worker_stop(worker) < 0 ||
        numalab_results_compare_all(worker, driver, oracle, driver->compute_phase, 0,
                                    results) < 0 ||
        numalab_worker_continue(worker) < 0 || numalab_worker_release(worker, driver) < 0 ||
        read_memory(worker, &table->after) < 0)
        return -1;
    table->is_complete = 1;
    return 0;
}

static json_t *describe(const struct table *table)
{
    return json_pack(
        "{sI sI sI sI sI sf sf sf sI sI sI sI sI sI sI}", "n", (json_int_t)table->n, "bytes",
        (json_int_t)table->bytes, "huge_bytes", (json_int_t)table->huge_bytes,
        "advised_bytes", (json_int_t)table->advised_bytes, "page_offset_bytes",
        (json_int_t)table->page_offset_bytes, "create_s", table->create_s, "initialize_s",
        table->initialize_s, "compute_s", table->compute_s,
        "initialize_page_faults",
        (json_int_t)(table->initialized.page_faults - table->created.page_faults),
        "resident_before_bytes", (json_int_t)table->before.resident_bytes,
        "resident_created_bytes", (json_int_t)table->created.resident_bytes,
        "resident_during_bytes", (json_int_t)table->initialized.resident_bytes,
        "resident_after_bytes", (json_int_t)table->after.resident_bytes,
        "address_space_before_bytes", (json_int_t)table->before.address_space_bytes,
        "address_space_after_bytes", (json_int_t)table->after.address_space_bytes);
}

/* Of arrays that the kernel makes: how much is on huge pages, what they take in all, and what is
 * left when the kernel has given them back. */
json_t *numalab_run_memory(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct memory_run run = {.worker = numalab_no_worker};
    json_t *tables = json_array();

    run.table[0].n = (size_t)(first_bytes / numalab_sizing_bytes(driver, 1));
    run.table[1].n = numalab_timed_n(driver, options->node, options->size, options->thread_count);
    int failed = numalab_worker_start(&run.worker, options->role[0].program, &limits,
                                      options->cancel_fd);
    for (size_t i = 0; !failed && i < TABLES; i++) {
        struct table *table = &run.table[i];
        struct numalab_oracle *oracle = driver->create(table->n);
        failed = oracle ? live(&run.worker, driver, oracle, table, &run.results)
                        : numalab_worker_kit_error(&run.worker, "make the oracle", -ENOMEM);
        if (oracle) driver->destroy(oracle);
        if (table->is_complete) json_array_append_new(tables, describe(table));
    }
    numalab_worker_end(&run.worker);
    return json_pack("{sb so so so}", "huge_pages_allowed", (int)limits.huge_pages, "results",
                     numalab_record_results(&run.results, driver), "tables", tables, "outcome",
                     numalab_record_outcome(&run.worker, driver));
}
