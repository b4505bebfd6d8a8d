#include <errno.h>

#include "monitor/record.h"
#include "runs.h"

/* Small, since every access costs ten times as much, and what matters is which accesses are
 * ordered, not how many there are. And what labs promise, for kernels that take one thread for
 * short arrays; unless that would take long: a loop that hands out 2^21 chunks does so for seconds,
 * and has handed out enough of them before. */
static const size_t sizes[] = {100, 4099, NUMALAB_LEAST_TRACED_N};
enum { SIZES = sizeof sizes / sizeof sizes[0], COMPUTES = 2 };
static const double most_compute_s = 1.0;

/* Shadow memory, several bytes for each byte touched. */
static const uint64_t shadow_bytes = (uint64_t)4 << 30;

/* Leaves in *compute_s how long the shortest compute phase took. */
static int run(struct numalab_worker *worker, const struct numalab_driver *driver, size_t n,
               double *compute_s)
{
    if (numalab_worker_allocate(worker, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_worker_run(worker, driver->initialize_phase, NULL) < 0)
        return -1;
    for (size_t i = 0; i < COMPUTES; i++) {
        if (numalab_worker_run(worker, driver->compute_phase, NULL) < 0) return -1;
        if (i == 0 || worker->elapsed_s < *compute_s) *compute_s = worker->elapsed_s;
    }
    return numalab_worker_release(worker, driver);
}

/* Its program ends at the first race. */
json_t *numalab_run_race(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_worker worker;
    json_t *done = json_array();
    double compute_s = 0.0;
    size_t last_n = 1;

    limits.memory_bytes += shadow_bytes;
    limits.any_address_space = true;
    int failed =
        numalab_worker_start(&worker, options->role[0].program, &limits, options->cancel_fd);
    for (size_t i = 0; !failed && i < SIZES; i++) {
        size_t n = sizes[i];
        /* A lab whose work grows faster than n checks no more than time allows. */
        if (driver->largest_check_n && n > driver->largest_check_n) n = driver->largest_check_n;
        const bool is_long =
            i + 1 == SIZES && compute_s * (double)n / (double)last_n > most_compute_s;
        if (n == last_n || is_long) continue;
        failed = run(&worker, driver, n, &compute_s);
        last_n = n;
        if (!failed) json_array_append_new(done, json_integer((json_int_t)n));
    }
    numalab_worker_end(&worker);
    return json_pack("{so so}", "sizes", done, "outcome", numalab_record_outcome(&worker, driver));
}
