#include "alloc_cycles.h"
#include "monitor/memory.h"

/* Of the whole process, after each step of a life of the arrays. */
struct observation {
    uint64_t bytes[NUMALAB_STEPS];
    bool is_observed[NUMALAB_STEPS];
};

static int observe(struct numalab_worker *worker, enum numalab_step step, void *context)
{
    struct observation *observation = context;
    if (step == NUMALAB_STEP_BEFORE) *observation = (struct observation){0};
    observation->is_observed[step] = true;
    int error = numalab_memory_page_tables(worker->pid, &observation->bytes[step]);
    return error < 0 ? numalab_worker_fail_obstructed(worker, "read the page tables' size", error)
                     : 0;
}

static json_t *describe(const struct numalab_life *life, void *context)
{
    static const char *const phases[NUMALAB_STEPS] = {[NUMALAB_STEP_ALLOCATE] = "allocate",
                                                      [NUMALAB_STEP_INITIALIZE] = "initialize",
                                                      [NUMALAB_STEP_COMPUTE] = "compute",
                                                      [NUMALAB_STEP_RELEASE] = "release"};
    const struct observation *observation = context;
    json_t *list = json_array();
    for (size_t step = 0; step < NUMALAB_STEPS; step++)
        if (phases[step] && observation->is_observed[step])
            json_array_append_new(list,
                                  json_pack("{ss sI}", "phase", phases[step], "page_table_bytes",
                                            (json_int_t)observation->bytes[step]));
    return json_pack("{sI sI sI so}", "n", (json_int_t)life->n, "bytes", (json_int_t)life->bytes,
                     "page_table_before_bytes", (json_int_t)observation->bytes[NUMALAB_STEP_BEFORE],
                     "phases", list);
}

/* The lowest level, which grows with the pages. Linux keeps one of its tables in store for each
 * transparent huge page, in case it has to be split, and counts it as if it was used. */
json_t *numalab_run_page_tables(const struct numalab_run_options *options)
{
    struct observation observation;
    const struct numalab_alloc_cycles_observer view = {observe, describe, &observation};
    return numalab_alloc_cycles_record(options, &view);
}
