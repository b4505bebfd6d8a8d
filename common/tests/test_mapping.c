/* Arrays whose memory a kernel has replaced are found, and no others. */
#define _GNU_SOURCE
#include "monitor/mapping.h"

#include <sched.h>

#include "expect.h"

static int failures;

enum { N = 100000, WHOLE_PAGES = 1 << 16 };

static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 1};

/* Whether the array is told to be replaced after a phase; makes_arrays: as if the kernel had made
 * it. */
static bool is_replaced_after(const char *phase, bool makes_arrays)
{
    struct numalab_results results = {0};
    struct numalab_worker worker;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, N, numalab_drivers[0], NUMALAB_ANONYMOUS) == 0 &&
           numalab_worker_run(&worker, phase, NULL) == 0);
    worker.makes_arrays = makes_arrays;
    EXPECT(numalab_mapping_check(&worker, &results) == 0);
    EXPECT(results.replaced_array == 0);
    numalab_worker_end(&worker);
    return results.is_replaced;
}

/* Whether a phase leaves shared memory at two addresses. */
static bool is_aliased_by(const char *phase)
{
    struct numalab_worker worker;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
           numalab_worker_allocate(&worker, WHOLE_PAGES, numalab_drivers[0], NUMALAB_SHARED) == 0);
    const bool is_found = numalab_mapping_run(&worker, phase) < 0;
    EXPECT(!is_found || (worker.outcome.kind == NUMALAB_BAD_PROTOCOL &&
                         worker.outcome.bad_protocol.disturbance == NUMALAB_MAPPED_TWICE));
    numalab_worker_end(&worker);
    return is_found;
}

int main(void)
{
    EXPECT(!is_replaced_after("initialize", false));
    EXPECT(!is_replaced_after("initialize", true));

    /* The same page everywhere; that each place has its own copy by now, once it is written to,
     * does not matter. */
    EXPECT(is_replaced_after("alias", false));
    EXPECT(is_replaced_after("alias", true));

    /* A file whose pages are all there once: the kernel's own arrays may be one. */
    EXPECT(is_replaced_after("replace_all", false));
    EXPECT(!is_replaced_after("replace_all", true));

    EXPECT(!is_aliased_by("initialize"));
    EXPECT(is_aliased_by("work_by_alias"));

    /* In a namespace of its own, as in a sandbox, the first segment's number is 0. */
    for (int i = 0; i < 2; i++, unshare(CLONE_NEWUSER | CLONE_NEWIPC))
        EXPECT(is_aliased_by("attach_twice"));
    return failures > 0;
}
