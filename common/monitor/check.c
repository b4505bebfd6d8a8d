#include <errno.h>

#include "record.h"
#include "results.h"
#include "runs.h"

/* Fewer elements than threads, sizes that no block or vector length divides, and
 * one that spans many pages. */
static const size_t sizes[] = {1, 7, 1000, 4099, 100003};
enum { SIZES = sizeof sizes / sizeof sizes[0], REPETITIONS = 3 };

/* The sizes up to the driver's largest, and that one. Returns how many. */
static size_t sizes_of(const struct numalab_driver *driver, size_t list[SIZES + 1])
{
    const size_t largest = driver->largest_check_n ? driver->largest_check_n : sizes[SIZES - 1];
    size_t count = 0;
    for (size_t i = 0; i < SIZES && sizes[i] < largest; i++) list[count++] = sizes[i];
    list[count++] = largest;
    return count;
}

static int check_size(struct numalab_worker *worker, const struct numalab_driver *driver,
                      struct numalab_oracle *oracle, struct numalab_random *random, size_t n,
                      struct numalab_results *results)
{
    struct numalab_change changes[NUMALAB_CHANGES];

    if (numalab_worker_allocate(worker, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_results_prepare(worker) < 0 ||
        numalab_worker_run(worker, driver->initialize_phase, NULL) < 0)
        return -1;
    driver->advance(oracle, driver->initialize_phase);
    if (numalab_worker_stop(worker) < 0 ||
        numalab_results_compare_all(worker, driver, oracle, driver->initialize_phase, 0,
                                    results) < 0)
        return -1;

    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        if (numalab_results_change_inputs(worker, driver, oracle, random, changes) < 0 ||
            numalab_worker_continue(worker) < 0 ||
            numalab_worker_run(worker, driver->compute_phase, NULL) < 0)
            return -1;
        driver->advance(oracle, driver->compute_phase);
        if (numalab_worker_stop(worker) < 0 ||
            numalab_results_compare_all(worker, driver, oracle, driver->compute_phase,
                                        repetition, results) < 0)
            return -1;
    }
    return numalab_results_check_before(worker, results) < 0 ||
                   numalab_worker_continue(worker) < 0 ||
                   numalab_worker_release(worker, driver) < 0
               ? -1
               : 0;
}

json_t *numalab_run_check(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_worker worker;
    struct numalab_random random = {0};
    json_t *checks = json_array();

    int failed = numalab_worker_start(&worker, options->role[0].program, &limits,
                                      options->cancel_fd);
    if (!failed && numalab_random_open(&random) < 0)
        failed = numalab_worker_kit_error(&worker, "seed the random numbers", -EIO);
    size_t list[SIZES + 1];
    const size_t count = sizes_of(driver, list);
    for (size_t i = 0; !failed && i < count; i++) {
        struct numalab_results results = {0};
        struct numalab_oracle *oracle = driver->create(list[i]);
        failed = oracle ? check_size(&worker, driver, oracle, &random, list[i], &results)
                        : numalab_worker_kit_error(&worker, "make the oracle", -ENOMEM);
        if (oracle) driver->destroy(oracle);
        json_array_append_new(checks,
                              json_pack("{sI so}", "n", (json_int_t)list[i], "results",
                                        numalab_record_results(&results, driver)));
    }
    numalab_worker_end(&worker);
    return json_pack("{ss ss so so so}", "kind", "check", "role", options->role[0].name,
                     "seed", json_sprintf("%016llx", (unsigned long long)random.seed),
                     "checks", checks, "outcome", numalab_record_outcome(&worker, driver));
}
