#include "runs.h"

#include <string.h>

struct numalab_limits numalab_limits_of_role(const struct numalab_run_options *options,
                                             const struct numalab_role *role)
{
    struct numalab_limits limits = options->limits;
    limits.huge_pages = options->driver->uses_huge_pages && strcmp(role->name, "handout") != 0;
    return limits;
}
