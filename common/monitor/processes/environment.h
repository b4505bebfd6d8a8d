/* The environment that a worker or a job's launcher is started with. The monitor's own is never
 * changed: several roles' workers are started from it. */
#ifndef NUMALAB_MONITOR_ENVIRONMENT_H
#define NUMALAB_MONITOR_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { NUMALAB_MAX_VARIABLES = 16 };

/* Variables beside the monitor's own, or in the place of those of that name. Texts are not
 * owned. */
struct numalab_variables {
    size_t count;
    struct {
        const char *name, *value;
    } list[NUMALAB_MAX_VARIABLES];
};

/* Returns 0, or -E2BIG where there is no room. A later value of a name takes the place of an
 * earlier one. */
int numalab_variables_set(struct numalab_variables *variables, const char *name, const char *value);

/* What exec takes: the monitor's environment and the variables, which may be NULL; only those that
 * is_needed lets through, unless it is NULL. Ends with NULL; one block, which the caller frees.
 * NULL without memory. */
char **numalab_environment_make(const struct numalab_variables *variables,
                                bool (*is_needed)(const char *variable));

#endif
