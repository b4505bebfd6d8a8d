#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "monitor/random.h"
#include "monitor/record.h"
#include "runs.h"

static size_t count_kinds(const struct numalab_series *series)
{
    size_t count = 0;
    while (series->kinds[count]) count++;
    return count;
}

/* Writes what is drawn over the worker's inputs, and no answer over the last one's. */
static int write_series(struct numalab_worker *worker, const struct numalab_driver *driver,
                        const struct numalab_oracle *oracle)
{
    static const int64_t none = INT64_MIN;
    for (size_t array = 0; array < driver->array_count; array++) {
        const void *values = driver->renewed(oracle, array);
        if (values && numalab_worker_write_or_fail(worker, worker->address[array], values,
                                                   worker->bytes[array]) < 0)
            return -1;
    }
    for (size_t i = 0; i < driver->series->answer_count; i++)
        if (numalab_worker_write_or_fail(worker, worker->address[driver->series->first_answer + i],
                                         &none, sizeof none) < 0)
            return -1;
    return 0;
}

/* One series: what the kernel is asked, what it tells, and the truth. */
static int ask(struct numalab_worker *worker, const struct numalab_driver *driver,
               struct numalab_oracle *oracle, size_t kind, uint64_t random, json_t *list)
{
    const struct numalab_series *series = driver->series;
    int64_t truth[NUMALAB_MAX_ANSWERS] = {0};
    const size_t length = series->draw(oracle, kind, random);
    if (write_series(worker, driver, oracle) < 0 ||
        numalab_worker_run(worker, driver->compute_phase, NULL) < 0)
        return -1;
    series->truth(oracle, truth);
    json_t *expected = json_array(), *told = json_array();
    json_t *entry = json_pack("{ss sI so so}", "kind", series->kinds[kind], "length",
                              (json_int_t)length, "truth", expected, "answers", told);
    json_array_append_new(list, entry);
    for (size_t i = 0; i < series->answer_count; i++) {
        int64_t answer;
        if (numalab_worker_read_or_fail(worker, worker->address[series->first_answer + i], &answer,
                                        sizeof answer) < 0)
            return -1;
        json_array_append_new(expected, json_integer((json_int_t)truth[i]));
        json_array_append_new(told, json_integer((json_int_t)answer));
    }
    return 0;
}

/* All kinds, in an order that is drawn: what comes next follows from nothing that a kernel sees. */
static int ask_all(struct numalab_worker *worker, const struct numalab_driver *driver,
                   struct numalab_oracle *oracle, struct numalab_random *random, json_t *list)
{
    const size_t count = count_kinds(driver->series) * driver->series->series_per_kind;
    size_t *order = malloc(count * sizeof *order);
    if (!order) return numalab_worker_kit_error(worker, "draw the series", -ENOMEM);
    numalab_random_order(random, order, count);
    int failed = 0;
    for (size_t i = 0; !failed && i < count; i++)
        failed = ask(worker, driver, oracle, order[i] / driver->series->series_per_kind,
                     numalab_random_next(random), list) < 0;
    free(order);
    return failed ? -1 : 0;
}

/* For a driver with series. What they are drawn by is known to the monitor only, and on record. */
json_t *numalab_run_series(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    const size_t n = driver->series->n;
    struct numalab_random random = {.seed = options->sampling.seed};
    struct numalab_worker worker = numalab_no_worker;
    struct numalab_oracle *oracle = driver->create(n);
    json_t *list = json_array();

    if (!oracle)
        numalab_worker_kit_error(&worker, "make the oracle", -ENOMEM);
    else if (numalab_worker_start(&worker, options->role[0].program, &limits, options->cancel_fd) ==
                 0 &&
             numalab_worker_allocate(&worker, n, driver, NUMALAB_ANONYMOUS) == 0 &&
             numalab_worker_run(&worker, driver->initialize_phase, NULL) == 0)
        ask_all(&worker, driver, oracle, &random, list);
    numalab_worker_end(&worker);
    if (oracle) driver->destroy(oracle);
    return json_pack("{so so so}", "seed", json_sprintf("%016llx", (unsigned long long)random.seed),
                     "series", list, "outcome", numalab_record_outcome(&worker, driver));
}
