#include "alloc_cycles.h"

#include <errno.h>
#include <unistd.h>

#include "monitor/job_results.h"
#include "monitor/memory.h"
#include "monitor/record.h"

/* Where the kernel makes the arrays, the first are a few huge pages large and a little more: so
 * one that does not start at the border of a huge page shows, and newer kernels, which put sizes
 * of whole huge pages there by themselves, do no student's work. A larger one would hide its ends;
 * no loop of a kernel's runs here that could be parallel for long arrays only. */
enum { FIRST_HUGE_PAGES = 4, FIRST_SMALL_PAGES = 16 }; /* 8 MiB and 64 KiB on x86-64 */

/* With larger ones the first table holds none, as the kit's own solution then shows: not gradable.
 */
static const uint64_t largest_huge_page_bytes = (uint64_t)64 << 20;

enum { CYCLES = 2 };

struct cycles {
    const struct numalab_driver *driver;
    const struct numalab_alloc_cycles_observer *view;
    struct numalab_job job; /* of one worker */
    struct numalab_results results;
};

static uint64_t first_bytes(void)
{
    uint64_t huge_page_bytes = numalab_memory_huge_page_bytes();
    if (huge_page_bytes > largest_huge_page_bytes) huge_page_bytes = largest_huge_page_bytes;
    return FIRST_HUGE_PAGES * huge_page_bytes + FIRST_SMALL_PAGES * (uint64_t)sysconf(_SC_PAGESIZE);
}

static size_t first_n(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    if (driver->create_phase) return (size_t)(first_bytes() / numalab_sizing_bytes(driver, 1));
    return numalab_traced_n(driver, options->node, &options->sampling);
}

/* Looks after a step that took so long. Until it is seen the process stands still: what a thread of
 * the kernel's own moves about meanwhile would be seen twice, or not at all. */
static int end_step(struct cycles *cycles, struct numalab_life *life, enum numalab_step step)
{
    struct numalab_worker *worker = &cycles->job.rank[0];
    life->elapsed_s[step] = step == NUMALAB_STEP_BEFORE ? 0.0 : worker->elapsed_s;
    if (numalab_job_stop(&cycles->job) < 0) return -1;
    if (cycles->view->observe(worker, step, cycles->view->context) < 0)
        return numalab_job_fail(&cycles->job, worker);
    return numalab_job_continue(&cycles->job);
}

static int live(struct cycles *cycles, struct numalab_oracle *oracle, struct numalab_life *life)
{
    const struct numalab_driver *driver = cycles->driver;
    struct numalab_job *job = &cycles->job;

    if (end_step(cycles, life, NUMALAB_STEP_BEFORE) < 0 ||
        numalab_job_allocate(job, life->n, driver, NUMALAB_ANONYMOUS) < 0)
        return -1;
    life->bytes = job->rank[0].array_bytes;
    if (end_step(cycles, life, NUMALAB_STEP_ALLOCATE) < 0 ||
        numalab_job_run(job, driver->initialize_phase) < 0 ||
        end_step(cycles, life, NUMALAB_STEP_INITIALIZE) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    if (numalab_job_run(job, driver->compute_phase) < 0 ||
        end_step(cycles, life, NUMALAB_STEP_COMPUTE) < 0)
        return -1;
    driver->advance(oracle, driver->compute_phase);
    const struct numalab_expected expected = {driver, oracle, driver->compute_phase, 0};
    if (numalab_job_stop(job) < 0 ||
        numalab_job_compare_all(job, &expected, &cycles->results) < 0 ||
        numalab_job_continue(job) < 0)
        return -1;
    if (!driver->destroy_phase) return 0;
    if (numalab_job_run(job, driver->destroy_phase) < 0) return -1;
    return end_step(cycles, life, NUMALAB_STEP_RELEASE);
}

json_t *numalab_alloc_cycles_record(const struct numalab_run_options *options,
                                    const struct numalab_alloc_cycles_observer *view)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_role *role = &options->role[0];
    const struct numalab_limits limits = numalab_limits_of_role(options, role);
    const size_t n[CYCLES] = {
        first_n(options),
        numalab_timed_n(driver, options->node, options->size, options->thread_count)};
    struct cycles cycles = {.driver = driver, .view = view};
    json_t *tables = json_array();

    int failed = numalab_role_start(&cycles.job, options, role, 1, &limits);
    for (size_t i = 0; !failed && i < CYCLES; i++) {
        struct numalab_life life = {.n = n[i]};
        struct numalab_oracle *oracle = numalab_job_oracle(driver, n[i], 1, false);
        failed = oracle ? live(&cycles, oracle, &life)
                        : numalab_job_kit_error(&cycles.job, "make the oracle", -ENOMEM);
        if (oracle) driver->destroy(oracle);
        if (!failed) json_array_append_new(tables, view->describe(&life, view->context));
    }
    numalab_job_end(&cycles.job);
    json_t *record = json_pack("{sb so so so}", "huge_pages_allowed", (int)limits.huge_pages,
                               "results", numalab_record_results(&cycles.results, driver), "tables",
                               tables, "outcome", numalab_record_job(&cycles.job, driver));
    numalab_job_free(&cycles.job);
    return record;
}
