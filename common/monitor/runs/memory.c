#include "monitor/memory.h"

#include <unistd.h>

#include "lives.h"

/* What is seen of one life of the arrays. */
struct seen {
    struct numalab_memory memory[NUMALAB_STEPS];
    struct numalab_huge_pages huge_pages; /* once they are initialised, and after the computing: the
                                             look that found less */
    uint64_t page_offset_bytes;           /* of the first array, past the start of a page */
};

static int look_for_huge_pages(struct numalab_worker *worker, bool is_first, struct seen *seen)
{
    struct numalab_huge_pages sum = {0};
    for (size_t i = 0; i < worker->array_count; i++) {
        struct numalab_huge_pages found;
        int error =
            numalab_memory_huge_pages(worker->pid, worker->address[i], worker->bytes[i], &found);
        if (error < 0) return numalab_worker_obstructed(worker, "read smaps", error);
        sum.bytes += found.bytes;
        sum.advised_bytes += found.advised_bytes;
    }
    if (is_first || sum.bytes < seen->huge_pages.bytes) seen->huge_pages = sum;
    seen->page_offset_bytes = worker->address[0] % (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static int look(struct numalab_worker *worker, enum numalab_step step, void *context)
{
    struct seen *seen = context;
    if (step == NUMALAB_STEP_BEFORE) *seen = (struct seen){0};
    if (step == NUMALAB_STEP_COMPUTE) return look_for_huge_pages(worker, false, seen);
    int error = numalab_memory_read(worker->pid, &seen->memory[step]);
    if (error < 0) return numalab_worker_obstructed(worker, "read the worker's memory use", error);
    return step == NUMALAB_STEP_INITIALIZE ? look_for_huge_pages(worker, true, seen) : 0;
}

static json_t *describe(const struct numalab_life *life, void *context)
{
    const struct seen *seen = context;
    const struct numalab_memory *before = &seen->memory[NUMALAB_STEP_BEFORE];
    const struct numalab_memory *created = &seen->memory[NUMALAB_STEP_ALLOCATE];
    const struct numalab_memory *initialized = &seen->memory[NUMALAB_STEP_INITIALIZE];
    const struct numalab_memory *after = &seen->memory[NUMALAB_STEP_RELEASE];
    return json_pack(
        "{sI sI sI sI sI sf sf sf sI sI sI sI sI sI sI}", "n", (json_int_t)life->n, "bytes",
        (json_int_t)life->bytes, "huge_bytes", (json_int_t)seen->huge_pages.bytes, "advised_bytes",
        (json_int_t)seen->huge_pages.advised_bytes, "page_offset_bytes",
        (json_int_t)seen->page_offset_bytes, "create_s", life->elapsed_s[NUMALAB_STEP_ALLOCATE],
        "initialize_s", life->elapsed_s[NUMALAB_STEP_INITIALIZE], "compute_s",
        life->elapsed_s[NUMALAB_STEP_COMPUTE], "initialize_page_faults",
        (json_int_t)(initialized->page_faults - created->page_faults), "resident_before_bytes",
        (json_int_t)before->resident_bytes, "resident_created_bytes",
        (json_int_t)created->resident_bytes, "resident_during_bytes",
        (json_int_t)initialized->resident_bytes, "resident_after_bytes",
        (json_int_t)after->resident_bytes, "address_space_before_bytes",
        (json_int_t)before->address_space_bytes, "address_space_after_bytes",
        (json_int_t)after->address_space_bytes);
}

/* Of arrays that the kernel makes: how much is on huge pages, what they take in all, and what is
 * left when the kernel has given them back. */
json_t *numalab_run_memory(const struct numalab_run_options *options)
{
    struct seen seen;
    const struct numalab_lives_view view = {look, describe, &seen};
    return numalab_lives_record(options, &view);
}
