/* The oracle of lab 00 finds what is wrong, and nothing else; a cycle stays one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "numalab/random.h"
#include "tests/expect.h"

static int failures;

enum { A, B, C, S };
enum { NEXT, START, STEPS, REACHED };
enum { ARRAYS = 4, REPETITIONS = 5 };

/* What the arrays of a worker hold. */
struct worker {
    const struct numalab_driver *driver;
    struct numalab_oracle *oracle;
    size_t n;
    unsigned char *array[ARRAYS];
};

static const struct numalab_driver *driver_of(const char *part)
{
    for (size_t i = 0; numalab_drivers[i]; i++)
        if (strcmp(numalab_drivers[i]->part, part) == 0) return numalab_drivers[i];
    return NULL;
}

static void open_worker(struct worker *worker, const char *part, size_t n)
{
    *worker = (struct worker){.driver = driver_of(part), .n = n};
    worker->oracle = worker->driver->create(n);
    for (size_t k = 0; k < ARRAYS; k++)
        worker->array[k] = calloc(worker->driver->count(n, k, 0, 1), sizeof(double));
    worker->driver->advance(worker->oracle, worker->driver->initialize_phase);
}

static void close_worker(struct worker *worker)
{
    worker->driver->destroy(worker->oracle);
    for (size_t k = 0; k < ARRAYS; k++) free(worker->array[k]);
}

/* Elements of all arrays that are not as the oracle has them, in chunks. */
static size_t count_mismatches(const struct worker *worker, size_t chunk,
                               struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t k = 0; k < ARRAYS; k++) {
        const size_t count = worker->driver->count(worker->n, k, 0, 1);
        for (size_t first = 0; first < count; first += chunk) {
            struct numalab_mismatch here = {0};
            const size_t part = count - first < chunk ? count - first : chunk;
            const size_t actual = worker->driver->compare(
                worker->oracle, k, first, part, worker->array[k] + first * sizeof(double), &here);
            if (actual && !mismatches) *mismatch = here;
            mismatches += actual;
        }
    }
    return mismatches;
}

/* As many changes as are asked for. */
static void change(struct worker *worker, uint64_t *state, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t position = numalab_splitmix(state), value = numalab_splitmix(state);
        struct numalab_change one = {0};
        EXPECT(worker->driver->change(worker->oracle, position, value, &one) == 0);
        EXPECT(one.element < worker->driver->count(worker->n, one.array, 0, 1));
        memcpy(worker->array[one.array] + one.element * sizeof(double), one.value, sizeof(double));
    }
}

/* ---- triad ---------------------------------------------------------------------- */

static void test_triad(size_t n)
{
    struct worker worker;
    struct numalab_mismatch mismatch = {0};
    uint64_t state = n;
    open_worker(&worker, "triad", n);
    EXPECT(worker.driver->bytes_moved(1000) == 32000);
    EXPECT(worker.driver->bytes_allocated(1000) == 8000);

    double *a = (double *)worker.array[A], *b = (double *)worker.array[B];
    double *c = (double *)worker.array[C], *s = (double *)worker.array[S];
    for (size_t i = 0; i < n; i++) {
        a[i] = initial_a;
        b[i] = initial_b(i);
        c[i] = initial_c(i);
    }
    s[0] = initial_s;
    EXPECT(count_mismatches(&worker, 77, &mismatch) == 0);
    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        const double before = s[0];
        change(&worker, &state, 8 + n / 512);
        EXPECT(s[0] != before && s[0] > 0.0 && s[0] < 32.0);
        worker.driver->advance(worker.oracle, "triad");
        /* By the scalar of the call before: all but where c is 0. */
        for (size_t i = 0; i < n; i++) a[i] = b[i] + before * c[i];
        EXPECT(n < 100 || count_mismatches(&worker, n, &mismatch) > n / 2);
        for (size_t i = 0; i < n; i++) a[i] = b[i] + s[0] * c[i];
        EXPECT(count_mismatches(&worker, 77, &mismatch) == 0);
        for (size_t i = 0; i < n; i++) a[i] = fma(s[0], c[i], b[i]);
        EXPECT(count_mismatches(&worker, n, &mismatch) == 0);
    }
    double *const kept[] = {a, b, c};
    for (size_t k = A; k <= C; k++) {
        const double value = kept[k][n - 1];
        kept[k][n - 1] = value + 0x1p-30;
        EXPECT(count_mismatches(&worker, 77, &mismatch) == 1);
        EXPECT(mismatch.array == k && mismatch.element == n - 1);
        EXPECT(mismatch.expected == value && mismatch.actual == value + 0x1p-30);
        kept[k][n - 1] = NAN;
        EXPECT(count_mismatches(&worker, n, &mismatch) == 1 && isnan(mismatch.actual));
        kept[k][n - 1] = value;
    }
    close_worker(&worker);
}

/* ---- chase ---------------------------------------------------------------------- */

static size_t *words(const struct worker *worker, size_t array)
{
    return (size_t *)worker->array[array];
}

static size_t walk(const struct worker *worker, size_t steps)
{
    size_t place = words(worker, START)[0];
    for (size_t step = 0; step < steps; step++) place = words(worker, NEXT)[place];
    return place;
}

/* Elements of the cycle to which element 0 leads; it is outside of it where it is on its way. */
static size_t cycle_length(const struct worker *worker)
{
    const size_t *next = words(worker, NEXT), first = next[0];
    size_t place = next[first], length = 1;
    for (; place != first && length <= worker->n; length++) place = next[place];
    return length;
}

static void open_chase(struct worker *worker, size_t n)
{
    const uint64_t mask = cycle_mask(n);
    open_worker(worker, "chase", n);
    for (size_t i = 0; i < n; i++) words(worker, NEXT)[i] = initial_next(n, mask, i);
    words(worker, START)[0] = initial_start(n);
    words(worker, STEPS)[0] = initial_steps(n);
    words(worker, REACHED)[0] = initial_reached(n);
}

/* changes: three for each element that moves, of which the last one may lack some until the next
 * time. */
static void test_chase(size_t n, size_t changes)
{
    struct worker worker;
    struct numalab_mismatch mismatch = {0};
    uint64_t state = n;
    open_chase(&worker, n);
    EXPECT(cycle_length(&worker) == n);
    EXPECT(count_mismatches(&worker, 77, &mismatch) == 0);
    EXPECT(worker.driver->bytes_moved(n) == 0);
    EXPECT(worker.driver->loads_in_chain((size_t)1 << 23) == 1 << 14);

    size_t *before = calloc(n, sizeof *before), moved = 0, whole = 0;
    for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
        memcpy(before, words(&worker, NEXT), n * sizeof *before);
        change(&worker, &state, changes);
        for (size_t i = 0; i < n; i++) moved += before[i] != words(&worker, NEXT)[i];
        const size_t length = cycle_length(&worker);
        EXPECT(length == n || (n > 2 && length == n - 1));
        whole += length == n;

        EXPECT(words(&worker, START)[0] < n);
        words(&worker, REACHED)[0] = n;
        EXPECT(words(&worker, STEPS)[0] <= 2 * n);
        worker.driver->advance(worker.oracle, "chase");
        EXPECT(count_mismatches(&worker, n, &mismatch) == 1);
        EXPECT(mismatch.array == REACHED);
        words(&worker, REACHED)[0] = walk(&worker, words(&worker, STEPS)[0]);
        EXPECT(count_mismatches(&worker, 77, &mismatch) == 0);
    }
    EXPECT(whole > 0);
    EXPECT(n < 100 || moved > REPETITIONS * (changes - 2) / 2);
    words(&worker, NEXT)[n - 1]++;
    EXPECT(count_mismatches(&worker, 4096, &mismatch) == 1);
    EXPECT(mismatch.array == NEXT && mismatch.element == n - 1);
    EXPECT(mismatch.actual == mismatch.expected + 1.0);
    free(before);
    close_worker(&worker);
}

/* Where so many steps led before the changes is not where they lead now: at a size that is timed,
 * with the changes that it gets. */
static void test_remembered(void)
{
    const size_t n = LEAST_TIMED_N, repetitions = 50;
    struct worker worker;
    uint64_t state = 3;
    size_t same = 0;
    open_chase(&worker, n);
    EXPECT(worker.driver->elements_per_change == 0);
    size_t *before = calloc(n, sizeof *before);
    for (size_t repetition = 0; repetition < repetitions; repetition++) {
        memcpy(before, words(&worker, NEXT), n * sizeof *before);
        change(&worker, &state, 8);
        worker.driver->advance(worker.oracle, "chase");
        const size_t steps = words(&worker, STEPS)[0];
        EXPECT(steps >= walk_steps(n) && steps < walk_steps(n) + walk_steps(n) / 100);
        size_t remembered = words(&worker, START)[0];
        for (size_t step = 0; step < steps; step++) remembered = before[remembered];
        same += walk(&worker, steps) == remembered;
    }
    EXPECT(same <= 1);
    free(before);
    close_worker(&worker);
}

/* What a wrong end means, in words. */
static void test_remarks(void)
{
    const size_t n = 100003;
    struct worker worker;
    uint64_t state = 4;
    open_chase(&worker, n);
    change(&worker, &state, 98);
    worker.driver->advance(worker.oracle, "chase");
    const size_t steps = words(&worker, STEPS)[0];
    const struct {
        size_t actual;
        const char *text;
    } remarks[] = {
        {walk(&worker, steps - 1), "one step less"},
        {walk(&worker, steps + 1), "one step more"},
        {words(&worker, START)[0], "where it starts"},
        {walk(&worker, 1), "on one step leads there"},
        {walk(&worker, steps - 5), "no number of steps near"},
    };
    EXPECT(steps > 10);
    for (size_t i = 0; i < sizeof remarks / sizeof remarks[0]; i++) {
        char remark[NUMALAB_REMARK_BYTES] = "";
        struct numalab_mismatch mismatch = {0};
        EXPECT(worker.driver->compare(worker.oracle, REACHED, 0, 1, &remarks[i].actual,
                                      &mismatch) == 1);
        worker.driver->remark(worker.oracle, &mismatch, 0, 1, &remarks[i].actual, remark);
        EXPECT(strstr(remark, remarks[i].text) != NULL);
    }
    close_worker(&worker);
}

/* Of a small cycle a wrong walk is told from each other one: the first after the initialisation is
 * never one that two of them end alike. */
static void test_first_walk(void)
{
    static const char *const text[] = {"on one step leads", "where it starts", "one step less",
                                       "one step more"};
    for (size_t n = 6; n < 40; n++) {
        struct worker worker;
        uint64_t state = n;
        open_chase(&worker, n);
        for (size_t walked = 0; walked < 20; walked++) {
            change(&worker, &state, 8);
            worker.driver->advance(worker.oracle, "chase");
            const size_t steps = words(&worker, STEPS)[0];
            EXPECT(walked > 0 || steps > 2);
            if (steps <= 2) continue;
            const size_t actual[] = {walk(&worker, 1), walk(&worker, 0), walk(&worker, steps - 1),
                                     walk(&worker, steps + 1)};
            for (size_t i = 0; i < sizeof actual / sizeof actual[0]; i++) {
                char remark[NUMALAB_REMARK_BYTES] = "";
                struct numalab_mismatch mismatch = {0};
                EXPECT(worker.driver->compare(worker.oracle, REACHED, 0, 1, &actual[i],
                                              &mismatch) == 1);
                worker.driver->remark(worker.oracle, &mismatch, 0, 1, &actual[i], remark);
                EXPECT(strstr(remark, text[i]) != NULL || strstr(remark, "from 1 on") != NULL);
            }
        }
        close_worker(&worker);
    }
}

/* Elements that are numbered from 1 on: where such a walk ends, and what lies before the array. */
static void test_fortran_indices(void)
{
    struct worker worker;
    struct numalab_mismatch mismatch = {0};
    char remark[NUMALAB_REMARK_BYTES] = "";
    uint64_t state = 5;
    const uint64_t before = UINT64_C(0xa5a5a5a5a5a5a5a5);
    open_chase(&worker, 1);
    change(&worker, &state, 8);
    worker.driver->advance(worker.oracle, "chase");
    EXPECT(words(&worker, STEPS)[0] == 1);
    EXPECT(worker.driver->compare(worker.oracle, REACHED, 0, 1, &before, &mismatch) == 1);
    worker.driver->remark(worker.oracle, &mismatch, 0, 1, &before, remark);
    EXPECT(strstr(remark, "next(0:*)") != NULL);
    close_worker(&worker);
}

int main(void)
{
    const size_t sizes[] = {1, 2, 3, 4, 7, 64, 1000, 4099, 100003};
    EXPECT(driver_of("triad") && driver_of("chase"));
    if (failures) return 1;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        test_triad(sizes[i]);
        for (size_t changes = 8; changes <= 10; changes++) test_chase(sizes[i], changes);
        test_chase(sizes[i], 8 + sizes[i] / 512);
    }
    test_remembered();
    test_remarks();
    test_first_walk();
    test_fortran_indices();
    return failures > 0;
}
