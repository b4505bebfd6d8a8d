/* The smallest driver does: results that are correct pass, and an element that is left out is
 * detected, after changes of inputs, too. */
#include <jansson.h>
#include <string.h>

#include "expect.h"
#include "monitor/runs/runs.h"

static int failures;

static const struct numalab_node node = {.memory_bytes = (uint64_t)1 << 40};

static json_t *check(const struct numalab_driver *driver)
{
    const struct numalab_run_options options = {
        .driver = driver,
        .node = &node,
        .thread_count = 2,
        .role = {{.name = "submission", .program = MINIMAL_WORKER, .rank_count = 1}},
        .role_count = 1,
        .limits = {.phase_s = 30.0,
                   .memory_bytes = (uint64_t)64 << 20,
                   .output_bytes = 1 << 20,
                   .thread_count = 2},
        .cancel_fd = -1,
    };
    json_t *record = numalab_run_check(&options);
    const json_t *status = json_object_get(json_object_get(record, "outcome"), "status");
    EXPECT(strcmp(json_string_value(status), "ok") == 0);
    EXPECT(json_array_size(json_object_get(record, "checks")) > 8);
    return record;
}

int main(void)
{
    struct numalab_driver incomplete = *numalab_drivers[0];
    json_t *record = check(numalab_drivers[0]), *entry;
    size_t i;
    json_array_foreach(json_object_get(record, "checks"), i, entry)
    {
        const json_t *results = json_object_get(entry, "results");
        EXPECT(json_integer_value(json_object_get(results, "checked")) > 0);
        EXPECT(json_integer_value(json_object_get(results, "mismatches")) == 0);
    }
    json_decref(record);

    incomplete.compute_phase = "compute_short";
    record = check(&incomplete);
    json_array_foreach(json_object_get(record, "checks"), i, entry)
    {
        const json_t *results = json_object_get(entry, "results");
        const json_t *first = json_object_get(results, "first_mismatch");
        const json_int_t n = json_integer_value(json_object_get(entry, "n"));
        EXPECT(first && json_integer_value(json_object_get(first, "element")) == n - 1);
    }
    json_decref(record);
    return failures > 0;
}
