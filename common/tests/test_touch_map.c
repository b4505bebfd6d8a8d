#include "monitor/touch_map.h"

#include <stdbool.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "expect.h"

static int failures;

enum { PAGES = 64, SKIPPED = 77 };

static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)256 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 2};

/* The map of two phases, as a record says it; the caller owns it. */
static json_t *sampled_map_of(const char *initialize, const char *compute,
                              enum numalab_touch_order order, enum numalab_touch_method method,
                              const struct numalab_sampling *sampling)
{
    const size_t n = PAGES * (size_t)sysconf(_SC_PAGESIZE) / sizeof(double);
    struct numalab_worker worker;
    struct numalab_threads threads = {0};
    json_t *record = NULL;

    if (numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0 &&
        numalab_worker_allocate(&worker, n, numalab_drivers[0], NUMALAB_SHARED) == 0) {
        struct numalab_touch_map *map =
            numalab_touch_map_open(&worker, NULL, numalab_drivers[0], sampling, order, method);
        if (map && numalab_touch_map_run_initialize(map, &worker, initialize) == 0 &&
            numalab_touch_map_run_compute(map, &worker, compute) == 0 &&
            numalab_threads_read(worker.pid, &threads) == 0)
            record = numalab_touch_map_describe(map, &threads);
        numalab_touch_map_close(map);
    }
    EXPECT(record != NULL);
    numalab_threads_free(&threads);
    numalab_worker_end(&worker);
    return record;
}

/* All pages. */
static json_t *map_of(const char *initialize, const char *compute, enum numalab_touch_order order,
                      enum numalab_touch_method method)
{
    const struct numalab_sampling all = {.traced_pages = SIZE_MAX / PAGES, .team = 2};
    return sampled_map_of(initialize, compute, order, method, &all);
}

static void expect_array(json_t *record, const char *key, const char *text)
{
    json_t *array = json_array_get(json_object_get(record, "arrays"), 0);
    char *dumped = json_dumps(json_object_get(array, key), JSON_COMPACT);
    EXPECT(dumped && strcmp(dumped, text) == 0);
    if (dumped && strcmp(dumped, text) != 0)
        fprintf(stderr, "  %s is %s, not %s\n", key, dumped, text);
    free(dumped);
}

/* Pages of which a thread (0: the main thread) is the first writer. */
static json_int_t pages_written_by(json_t *record, bool is_serial)
{
    json_t *array = json_array_get(json_object_get(record, "arrays"), 0), *run;
    json_int_t pages = 0;
    size_t i;
    json_array_foreach(json_object_get(array, "first_writer"), i,
                       run) if ((json_integer_value(json_array_get(run, 0)) == 0) == is_serial)
        pages += json_integer_value(json_array_get(run, 1));
    return pages;
}

/* In-process tracing knows reads from writes on x86-64; userfaultfd does since Linux
 * 5.19. */
static bool must_detect_write_after_read(enum numalab_touch_method method)
{
    struct utsname system;
    int major = 0, minor = 0;
    uname(&system);
    sscanf(system.release, "%d.%d", &major, &minor);
    if (method == NUMALAB_TOUCH_IN_PROCESS) return strcmp(system.machine, "x86_64") == 0;
    return major > 5 || (major == 5 && minor >= 19);
}

static void test_method(enum numalab_touch_method method, const char *name)
{
    /* Thread numbers: 0 main; those that have ended get the next ones. */
    json_t *record = map_of("halves", "compute", NUMALAB_ORDER_NATURAL, method);
    EXPECT(strcmp(json_string_value(json_object_get(record, "method")), name) == 0);
    expect_array(record, "first_writer", "[[0,32],[1,32]]");
    expect_array(record, "users", "[[[0],64]]");
    json_decref(record);

    record = map_of("initialize", "halves", NUMALAB_ORDER_NATURAL, method);
    expect_array(record, "first_writer", "[[0,64]]");
    expect_array(record, "users", "[[[0],32],[[1],32]]");
    json_decref(record);

    /* Reading does not place: the later writer is the first to touch. */
    record = map_of("read_then_write", "compute", NUMALAB_ORDER_NATURAL, method);
    if (json_is_true(json_object_get(record, "sees_write_after_read")))
        expect_array(record, "first_writer", "[[0,64]]");
    else
        EXPECT(!must_detect_write_after_read(method));
    json_decref(record);
}

/* Of 64 pages 20, each thread's half: the others are touched, and nothing is said of them. */
static void test_sampled(enum numalab_touch_method method)
{
    const struct numalab_sampling some = {.seed = 7, .traced_pages = 20, .team = 2};
    json_t *record = sampled_map_of("halves", "halves", NUMALAB_ORDER_NATURAL, method, &some);
    json_t *array = json_array_get(json_object_get(record, "arrays"), 0), *block;
    json_int_t traced = 0;
    size_t i;
    json_array_foreach(json_object_get(array, "blocks"), i, block) traced +=
        json_integer_value(json_array_get(block, 1));
    EXPECT(traced == 20 && json_integer_value(json_object_get(array, "pages")) == PAGES);
    expect_array(record, "first_writer", "[[0,10],[1,10]]");
    expect_array(record, "users", "[[[0],10],[[2],10]]"); /* thread 1 has ended */
    json_decref(record);
}

/* Runs phases on pages that are closed all the time, and looks at what they then hold. Returns
 * how many elements are not their number, and as much as was added. */
static size_t count_mismatches(const char *compute, double added)
{
    enum { ELEMENTS = PAGES * 512 };
    static double found[ELEMENTS];
    const struct numalab_sampling all = {.traced_pages = SIZE_MAX / PAGES, .team = 2};
    struct numalab_worker worker;
    size_t mismatches = 0;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0);
    EXPECT(numalab_worker_allocate(&worker, ELEMENTS, numalab_drivers[0], NUMALAB_SHARED) == 0);
    struct numalab_touch_map *map = numalab_touch_map_open(
        &worker, NULL, numalab_drivers[0], &all, NUMALAB_ORDER_NATURAL, NUMALAB_TOUCH_USERFAULTFD);
    EXPECT(map && numalab_touch_map_run_initialize(map, &worker, "initialize") == 0);
    for (int i = 0; map && i < 3; i++)
        EXPECT(numalab_touch_map_run_compute(map, &worker, compute) == 0);
    EXPECT(numalab_worker_read_or_fail(&worker, worker.address[0], found, sizeof found) == 0);
    for (size_t i = 0; i < ELEMENTS; i++) mismatches += found[i] != (double)i + added;
    numalab_touch_map_close(map);
    numalab_worker_end(&worker);
    return mismatches;
}

/* What a page held when it was closed is there when it is used again, and afterwards; by another
 * mapping nothing is. */
static void test_contents_are_kept(void)
{
    EXPECT(count_mismatches("compute", 3.0) == 0);
    EXPECT(count_mismatches("work_by_alias", 3.0) > PAGES);
}

/* How often pages were used again by a thread after they had been closed. */
static json_int_t uses_again_by(json_t *record, json_int_t thread)
{
    json_t *array = json_array_get(json_object_get(record, "arrays"), 0), *entry;
    json_int_t uses = 0;
    size_t i;
    json_array_foreach(json_object_get(array, "used_again"), i,
                       entry) if (json_integer_value(json_array_get(entry, 1)) == thread) uses +=
        json_integer_value(json_array_get(entry, 2));
    return uses;
}

/* Who only touches pages is seen once, whoever works on them again. */
static void test_touching_is_not_working(void)
{
    json_t *record =
        map_of("initialize", "touch_then_work", NUMALAB_ORDER_NATURAL, NUMALAB_TOUCH_USERFAULTFD);
    EXPECT(json_integer_value(json_object_get(record, "closings")) >= 2);
    EXPECT(uses_again_by(record, 0) >= PAGES / 2);
    EXPECT(uses_again_by(record, 1) == 0);
    json_decref(record);

    record = map_of("initialize", "halves", NUMALAB_ORDER_NATURAL, NUMALAB_TOUCH_USERFAULTFD);
    expect_array(record, "users", "[[[0],32],[[1],32]]");
    json_decref(record);
}

/* Two threads write every page: whoever goes first gets them. The other one is waited for a
 * moment only, and on a busy node may come too late for that: then most of some tries count. */
static void test_order(enum numalab_touch_order order, bool is_serial)
{
    enum { MOST_TRIES = 9 };
    int tries = 0, right = 0;
    do {
        json_t *record = map_of("interleaved", "compute", order, NUMALAB_TOUCH_USERFAULTFD);
        right += pages_written_by(record, is_serial) > PAGES * 3 / 4;
        json_decref(record);
    } while (++tries < MOST_TRIES && 2 * right <= tries);
    EXPECT(2 * right > tries);
}

/* A worker that says it can't be traced, where the system lets it, is not traced by itself. */
static void test_refusal(void)
{
    const size_t n = PAGES * (size_t)sysconf(_SC_PAGESIZE) / sizeof(double);
    const struct numalab_sampling all = {.traced_pages = SIZE_MAX / PAGES, .team = 2};
    struct numalab_worker worker;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0);
    EXPECT(numalab_worker_run(&worker, "refuse_userfaultfd", NULL) == 0);
    EXPECT(numalab_worker_allocate(&worker, n, numalab_drivers[0], NUMALAB_SHARED) == 0);
    EXPECT(numalab_touch_map_open(&worker, NULL, numalab_drivers[0], &all, NUMALAB_ORDER_NATURAL,
                                  NUMALAB_TOUCH_USERFAULTFD) == NULL);
    EXPECT(worker.outcome.kind == NUMALAB_UNTRACEABLE);
    numalab_worker_end(&worker);
}

int main(void)
{
    test_method(NUMALAB_TOUCH_IN_PROCESS, "in_process");
    test_sampled(NUMALAB_TOUCH_IN_PROCESS);
    if (numalab_touch_map_probe() < 0) {
        fprintf(stderr, "userfaultfd is refused here: only the in-process way was tested\n");
        return failures ? 1 : SKIPPED;
    }
    test_method(NUMALAB_TOUCH_USERFAULTFD, "userfaultfd");
    test_sampled(NUMALAB_TOUCH_USERFAULTFD);
    test_touching_is_not_working();
    test_contents_are_kept();
    test_refusal();

    test_order(NUMALAB_ORDER_ASCENDING, true);
    test_order(NUMALAB_ORDER_DESCENDING, false);
    return failures > 0;
}
