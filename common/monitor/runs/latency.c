#include "monitor/job_results.h"
#include "monitor/record.h"
#include "runs.h"

enum { LARGEST_MESSAGE_BYTES = 4 << 20, SAMPLES = 5 };

/* One size: a warm-up, and some samples. The ranks are not stopped between, so that what a
 * message takes is all there is. */
static int take_size(struct numalab_job *job, const struct numalab_driver *driver, size_t bytes,
                     json_t *samples)
{
    if (numalab_job_allocate(job, bytes, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_job_run(job, driver->initialize_phase) < 0)
        return -1;
    for (size_t i = 0; i <= SAMPLES; i++) {
        if (numalab_job_run(job, driver->compute_phase) < 0) return -1;
        json_array_append_new(samples,
                              json_pack("{sI sI sf sb}", "bytes", (json_int_t)bytes, "repetitions",
                                        (json_int_t)driver->repetitions(bytes, false), "elapsed_s",
                                        job->elapsed_s, "warm_up", i == 0));
    }
    return 0;
}

json_t *numalab_run_latency(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_role *role = &options->role[0];
    struct numalab_limits limits = numalab_limits_of_role(options, role);
    limits.keeps_core = true;
    limits.phases = 0; /* there are as many as samples, of the kit's kernel */
    struct numalab_job job = {0};
    json_t *samples = json_array(), *ranks = NULL;

    int failed = numalab_role_start(&job, options, role, role->rank_count, &limits);
    for (size_t bytes = 0; !failed && bytes <= LARGEST_MESSAGE_BYTES; bytes = bytes ? 2 * bytes : 1)
        failed = take_size(&job, driver, bytes, samples);
    if (!failed) ranks = numalab_record_ranks(&job, options->node);
    numalab_job_end(&job);
    json_t *record = json_pack("{so so so}", "ranks", ranks ? ranks : json_array(), "samples",
                               samples, "outcome", numalab_record_job(&job, driver));
    numalab_job_free(&job);
    return record;
}
