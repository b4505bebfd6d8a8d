#include <errno.h>

#include "monitor/mapping.h"
#include "monitor/random.h"
#include "monitor/record.h"
#include "runs.h"

/* Two small sizes, since every access costs ten times as much, and what matters is which accesses
 * are ordered, not how many there are; what is timed; and what labs promise kernels that take one
 * thread for short arrays. The last two unless that would take long: a loop that hands out 2^21
 * chunks does so for seconds, and has handed out enough of them before. All by chance, since a
 * kernel may ask for n: the small ones from ranges, first and count. */
static const size_t ranges[][2] = {{64, 128}, {3072, 1024}};
enum { RANGES = sizeof ranges / sizeof ranges[0], SIZES = RANGES + 2, COMPUTES = 2 };
static const double most_compute_s = 1.0;

/* Shadow memory, several bytes for each byte touched. */
static const uint64_t shadow_bytes = (uint64_t)4 << 30;

/* Threads with which the small sizes are tried at least: two may come one after another. The others
 * have the team that is timed. */
enum { LEAST_TEAM = 4 };

/* What its program ends with at the first race, by common/worker/race_options.c. */
enum { RACE_EXIT_CODE = 66 };

static void draw_sizes(const struct numalab_run_options *options, size_t list[SIZES])
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_random random = {.seed = options->sampling.seed};
    for (size_t i = 0; i < RANGES; i++)
        list[i] = ranges[i][0] + (size_t)(numalab_random_next(&random) % ranges[i][1]);
    const size_t timed =
        numalab_timed_n(driver, options->node, options->size, options->thread_count);
    list[RANGES] = timed + (size_t)(numalab_random_next(&random) % (timed / 8 + 1));
    list[RANGES + 1] = driver->evidence_n
                           ? 0 /* whose work grows faster than n */
                           : numalab_traced_n(driver, options->node, &options->sampling);
}

/* Leaves in *compute_s how long the shortest compute phase took. */
static int run(struct numalab_worker *worker, const struct numalab_driver *driver, size_t n,
               double *compute_s)
{
    if (numalab_worker_allocate(worker, n, driver, NUMALAB_ANONYMOUS) < 0 ||
        numalab_mapping_run(worker, driver->initialize_phase) < 0)
        return -1;
    for (size_t i = 0; i < COMPUTES; i++) {
        if (numalab_mapping_run(worker, driver->compute_phase) < 0) return -1;
        if (i == 0 || worker->elapsed_s < *compute_s) *compute_s = worker->elapsed_s;
    }
    return numalab_worker_release(worker, driver);
}

/* How long a compute phase will take at another size: of a lab that names its sizes, since its work
 * grows faster than n, by the square. */
static double foreseen_s(const struct numalab_driver *driver, double compute_s, size_t n,
                         size_t last_n)
{
    const double growth = (double)n / (double)last_n;
    return compute_s * growth * (driver->largest_check_n ? growth : 1.0);
}

/* Has the kit's own code in the worker race: a search that does not see that has been switched off.
 * Returns whether it was seen; false with the outcome set where the worker ended in another way. */
static bool finds_race(struct numalab_worker *worker)
{
    struct numalab_message reply;
    if (numalab_worker_request(worker, NUMALAB_RACE, &reply, NULL) == 0) return false;
    if (worker->outcome.kind != NUMALAB_EXITED ||
        worker->outcome.exited.exit_code != RACE_EXIT_CODE)
        return false;
    worker->outcome = (struct numalab_outcome){.kind = NUMALAB_OK};
    return true;
}

/* Its program ends at the first race. */
json_t *numalab_run_race(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_worker worker;
    json_t *done = json_array();
    double compute_s = 0.0;
    size_t list[SIZES], last_n = 1;

    limits.memory_bytes += shadow_bytes;
    limits.any_address_space = true;
    limits.notes_stores = true;
    if (limits.thread_count < LEAST_TEAM) limits.thread_count = LEAST_TEAM;
    draw_sizes(options, list);
    int failed =
        numalab_worker_start(&worker, options->role[0].program, &limits, options->cancel_fd);
    for (size_t i = 0; !failed && i < SIZES; i++) {
        const size_t n = list[i];
        const bool is_long =
            i >= RANGES && foreseen_s(driver, compute_s, n, last_n) > most_compute_s;
        if (n <= last_n || is_long) continue;
        if (i == 0) failed = numalab_worker_set_team(&worker, limits.thread_count);
        if (i >= RANGES) failed = numalab_worker_set_team(&worker, options->thread_count);
        if (!failed) failed = run(&worker, driver, n, &compute_s);
        last_n = n;
        if (!failed) json_array_append_new(done, json_integer((json_int_t)n));
    }
    json_t *searched = failed ? json_null() : json_boolean(finds_race(&worker));
    numalab_worker_end(&worker);
    return json_pack("{so so so}", "sizes", done, "searched", searched, "outcome",
                     numalab_record_outcome(&worker, driver));
}
