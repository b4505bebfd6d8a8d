#include "monitor/memory.h"

#include <unistd.h>

#include "alloc_cycles.h"

/* What is seen of one life of the arrays. */
struct observation {
    struct numalab_memory memory[NUMALAB_STEPS];
    struct numalab_huge_pages huge_pages; /* once they are initialised, and after the computing: the
                                             look that found less */
    uint64_t page_offset_bytes;           /* of the first array, past the start of a page */
};

static int count_huge_pages(struct numalab_worker *worker, bool is_first,
                            struct observation *observation)
{
    struct numalab_huge_pages sum = {0};
    for (size_t i = 0; i < worker->array_count; i++) {
        struct numalab_huge_pages found;
        int error =
            numalab_memory_huge_pages(worker->pid, worker->address[i], worker->bytes[i], &found);
        if (error < 0) return numalab_worker_fail_obstructed(worker, "read smaps", error);
        sum.bytes += found.bytes;
        sum.advised_bytes += found.advised_bytes;
    }
    if (is_first || sum.bytes < observation->huge_pages.bytes) observation->huge_pages = sum;
    observation->page_offset_bytes = worker->address[0] % (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static int observe(struct numalab_worker *worker, enum numalab_step step, void *context)
{
    struct observation *observation = context;
    if (step == NUMALAB_STEP_BEFORE) *observation = (struct observation){0};
    if (step == NUMALAB_STEP_COMPUTE) return count_huge_pages(worker, false, observation);
    int error = numalab_memory_read(worker->pid, &observation->memory[step]);
    if (error < 0)
        return numalab_worker_fail_obstructed(worker, "read the worker's memory use", error);
    return step == NUMALAB_STEP_INITIALIZE ? count_huge_pages(worker, true, observation) : 0;
}

static json_t *describe(const struct numalab_life *life, void *context)
{
    const struct observation *observation = context;
    const struct numalab_memory *before = &observation->memory[NUMALAB_STEP_BEFORE];
    const struct numalab_memory *created = &observation->memory[NUMALAB_STEP_ALLOCATE];
    const struct numalab_memory *initialized = &observation->memory[NUMALAB_STEP_INITIALIZE];
    const struct numalab_memory *after = &observation->memory[NUMALAB_STEP_RELEASE];
    return json_pack("{sI sI sI sI sI sf sf sf sI sI sI sI sI sI sI}", "n", (json_int_t)life->n,
                     "bytes", (json_int_t)life->bytes, "huge_bytes",
                     (json_int_t)observation->huge_pages.bytes, "advised_bytes",
                     (json_int_t)observation->huge_pages.advised_bytes, "page_offset_bytes",
                     (json_int_t)observation->page_offset_bytes, "create_s",
                     life->elapsed_s[NUMALAB_STEP_ALLOCATE], "initialize_s",
                     life->elapsed_s[NUMALAB_STEP_INITIALIZE], "compute_s",
                     life->elapsed_s[NUMALAB_STEP_COMPUTE], "initialize_page_faults",
                     (json_int_t)(initialized->page_faults - created->page_faults),
                     "resident_before_bytes", (json_int_t)before->resident_bytes,
                     "resident_created_bytes", (json_int_t)created->resident_bytes,
                     "resident_during_bytes", (json_int_t)initialized->resident_bytes,
                     "resident_after_bytes", (json_int_t)after->resident_bytes,
                     "address_space_before_bytes", (json_int_t)before->address_space_bytes,
                     "address_space_after_bytes", (json_int_t)after->address_space_bytes);
}

/* Of arrays that the kernel makes: how much is on huge pages, what they take in all, and what is
 * left when the kernel has given them back. */
json_t *numalab_run_memory(const struct numalab_run_options *options)
{
    struct observation observation;
    const struct numalab_alloc_cycles_observer view = {observe, describe, &observation};
    return numalab_alloc_cycles_record(options, &view);
}
