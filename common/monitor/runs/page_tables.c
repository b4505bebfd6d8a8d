#include "lives.h"
#include "monitor/memory.h"

/* Of the whole process, after each step of a life of the arrays. */
struct seen {
    uint64_t bytes[NUMALAB_STEPS];
    bool is_seen[NUMALAB_STEPS];
};

static int look(struct numalab_worker *worker, enum numalab_step step, void *context)
{
    struct seen *seen = context;
    if (step == NUMALAB_STEP_BEFORE) *seen = (struct seen){0};
    seen->is_seen[step] = true;
    int error = numalab_memory_page_tables(worker->pid, &seen->bytes[step]);
    return error < 0 ? numalab_worker_obstructed(worker, "read the page tables' size", error) : 0;
}

static json_t *describe(const struct numalab_life *life, void *context)
{
    static const char *const phases[NUMALAB_STEPS] = {[NUMALAB_STEP_ALLOCATE] = "allocate",
                                                      [NUMALAB_STEP_INITIALIZE] = "initialize",
                                                      [NUMALAB_STEP_COMPUTE] = "compute",
                                                      [NUMALAB_STEP_RELEASE] = "release"};
    const struct seen *seen = context;
    json_t *list = json_array();
    for (size_t step = 0; step < NUMALAB_STEPS; step++)
        if (phases[step] && seen->is_seen[step])
            json_array_append_new(list,
                                  json_pack("{ss sI}", "phase", phases[step], "page_table_bytes",
                                            (json_int_t)seen->bytes[step]));
    return json_pack("{sI sI sI so}", "n", (json_int_t)life->n, "bytes", (json_int_t)life->bytes,
                     "page_table_before_bytes", (json_int_t)seen->bytes[NUMALAB_STEP_BEFORE],
                     "phases", list);
}

/* The lowest level, which grows with the pages. Linux keeps one of its tables in store for each
 * transparent huge page, in case it has to be split, and counts it as if it was used. */
json_t *numalab_run_page_tables(const struct numalab_run_options *options)
{
    struct seen seen;
    const struct numalab_lives_view view = {look, describe, &seen};
    return numalab_lives_record(options, &view);
}
