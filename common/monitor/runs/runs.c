#include "runs.h"

#include <string.h>

#define RUN_ROW(name, needs, observes) {#name, numalab_run_##name, needs, observes},
const struct numalab_run numalab_runs[] = {NUMALAB_RUNS(RUN_ROW)};
const size_t numalab_run_count = sizeof numalab_runs / sizeof numalab_runs[0];

const struct numalab_run *numalab_find_run(const char *name)
{
    for (size_t i = 0; i < numalab_run_count; i++)
        if (strcmp(numalab_runs[i].name, name) == 0) return &numalab_runs[i];
    return NULL;
}
