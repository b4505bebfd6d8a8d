/* The environment that a worker or a job's launcher is started with. The monitor's own is never
 * changed: several roles' workers are started from it. */
#ifndef NUMALAB_MONITOR_ENVIRONMENT_H
#define NUMALAB_MONITOR_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>

enum { NUMALAB_MAX_VARIABLES = 16 };

/* Variables that are added to the monitor's own, or replace those with their names. Texts are not
 * owned. */
struct numalab_variables {
    size_t count;
    struct {
        const char *name, *value;
    } list[NUMALAB_MAX_VARIABLES];
};

/* Sets a variable; a later value of a name replaces an earlier one. Returns 0, or -E2BIG if there
 * are NUMALAB_MAX_VARIABLES others. */
int numalab_variables_set(struct numalab_variables *variables, const char *name, const char *value);

/* Returns an environment for exec, ending with NULL: the monitor's with the variables, which may be
 * NULL, but without entries for which is_needed, unless NULL, returns false. One block, which the
 * caller frees; it refers to the monitor's own texts. NULL without memory. */
char **numalab_environment_make(const struct numalab_variables *variables,
                                bool (*is_needed)(const char *variable));

#endif
