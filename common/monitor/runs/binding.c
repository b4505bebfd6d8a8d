#include <errno.h>

#include "monitor/record.h"
#include "monitor/results.h"
#include "runs.h"

enum { ELEMENTS_PER_THREAD = 1000 };

json_t *numalab_run_binding(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const size_t n = ELEMENTS_PER_THREAD * options->thread_count;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_worker worker;
    struct numalab_threads threads = {0};

    if (numalab_worker_start(&worker, options->role[0].program, &limits, options->cancel_fd) == 0 &&
        numalab_worker_allocate(&worker, n, driver, NUMALAB_ANONYMOUS) == 0 &&
        numalab_worker_run(&worker, driver->initialize_phase, NULL) == 0 &&
        numalab_worker_run(&worker, driver->compute_phase, NULL) == 0 &&
        numalab_worker_stop(&worker) == 0) {
        int error = numalab_threads_read(worker.pid, &threads);
        if (error < 0) numalab_worker_fail_obstructed(&worker, "list the threads", error);
    }
    json_t *list = numalab_threads_describe(&threads, options->node);
    numalab_threads_free(&threads);
    numalab_worker_end(&worker);
    return json_pack("{so so}", "threads", list, "outcome",
                     numalab_record_outcome(&worker, driver));
}
