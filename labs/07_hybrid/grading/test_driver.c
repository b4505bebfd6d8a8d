/* The oracle of lab 07 finds what is wrong, and nothing else. */
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "numalab/random.h"
#include "tests/expect.h"

static int failures;

enum { FIELD, NEXT, RESIDUAL, ITERATION, ARRAYS };
enum { MAX_RANKS = 4, REPETITIONS = 40, CHANGES = 8 };

/* Ranks as right kernels leave them, each with arrays of its own; the computation itself
 * runs over rows of the whole field, wherever they lie. */
struct job {
    const struct numalab_driver *driver;
    struct numalab_oracle *oracle;
    size_t n, ranks, columns;
    double *array[MAX_RANKS][2];
    double residual[MAX_RANKS];
    int64_t iteration[MAX_RANKS];
};

static size_t elements(const struct job *job, size_t rank)
{
    return job->driver->count(job->n, FIELD, rank, job->ranks);
}

static size_t rows_of(const struct job *job, size_t rank)
{
    return rank_rows(job->n, rank, job->ranks);
}

static void start(struct job *job, size_t n, size_t ranks)
{
    *job = (struct job){.driver = numalab_drivers[0], .n = n, .ranks = ranks, .columns = n + 2};
    job->oracle = job->driver->create_ranks(n, ranks, false);
    EXPECT(job->oracle != NULL);
    size_t rows = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        EXPECT(elements(job, rank) == (rows_of(job, rank) + 2) * job->columns);
        EXPECT(job->driver->count(n, RESIDUAL, rank, ranks) == 1);
        EXPECT(job->driver->count(n, ITERATION, rank, ranks) == 1);
        EXPECT(rank_first_row(n, rank, ranks) == rows && rows_of(job, rank) >= 1);
        rows += rows_of(job, rank);
        for (size_t k = FIELD; k <= NEXT; k++)
            job->array[rank][k] = calloc(elements(job, rank), sizeof(double));
    }
    EXPECT(rows == n);
}

static void end(struct job *job)
{
    for (size_t rank = 0; rank < job->ranks; rank++)
        for (size_t k = FIELD; k <= NEXT; k++) free(job->array[rank][k]);
    job->driver->destroy(job->oracle);
}

static void initialize(struct job *job)
{
    for (size_t rank = 0; rank < job->ranks; rank++) {
        const size_t first_row = rank_first_row(job->n, rank, job->ranks);
        for (size_t k = FIELD; k <= NEXT; k++) {
            double *array = job->array[rank][k];
            memset(array, 0, elements(job, rank) * sizeof *array);
            for (size_t i = 1; i <= rows_of(job, rank); i++)
                for (size_t j = 1; j <= job->n; j++)
                    array[i * job->columns + j] =
                        (double)((7 * (first_row + i - 1) + 3 * j) % 11);
        }
        job->residual[rank] = -1.0;
        job->iteration[rank] = 0;
    }
    job->driver->advance(job->oracle, "initialize");
}

/* Row i of the whole field, 0 to n + 1, in the array of a rank that has it as its own; the
 * boundary's are halo rows of the first and the last. */
static double *own_row(const struct job *job, size_t k, size_t i)
{
    for (size_t rank = 0; rank < job->ranks; rank++) {
        const size_t first = rank_first_row(job->n, rank, job->ranks);
        const bool is_own = (i > first && i <= first + rows_of(job, rank)) || i == 0 ||
                            (i == job->n + 1 && rank == job->ranks - 1);
        if (is_own) return job->array[rank][k] + (i - first) * job->columns;
    }
    abort();
}

static void exchange(struct job *job, size_t k)
{
    const size_t row_bytes = job->columns * sizeof(double);
    for (size_t rank = 0; rank + 1 < job->ranks; rank++) {
        const size_t rows = rows_of(job, rank);
        double *upper = job->array[rank][k], *lower = job->array[rank + 1][k];
        memcpy(lower, upper + rows * job->columns, row_bytes);
        memcpy(upper + (rows + 1) * job->columns, lower + job->columns, row_bytes);
    }
}

enum order { ROWWISE, BACKWARDS, RANKWISE, FUSED, ORDERS };

static double square_sum(const struct job *job, size_t start, enum order order)
{
    double total = 0.0, rank_total = 0.0;
    for (size_t i = 1; i <= job->n; i++) {
        const size_t row = order == BACKWARDS ? job->n + 1 - i : i;
        const double *before = own_row(job, start, row), *after = own_row(job, 1 - start, row);
        for (size_t j = 1; j <= job->n; j++) {
            const double difference = after[j] - before[j];
            rank_total = order == FUSED ? fma(difference, difference, rank_total)
                                     : rank_total + difference * difference;
        }
        if (order == RANKWISE && i % 3 == 0) {
            total += rank_total;
            rank_total = 0.0;
        }
    }
    return total + rank_total;
}

static void iterate(struct job *job, enum order order)
{
    const size_t start = (size_t)(job->iteration[0] % 2);
    exchange(job, start);
    for (size_t i = 1; i <= job->n; i++) {
        const double *above = own_row(job, start, i - 1), *own = own_row(job, start, i);
        const double *below = own_row(job, start, i + 1);
        double *next = own_row(job, 1 - start, i);
        for (size_t j = 1; j <= job->n; j++)
            next[j] = (((above[j] + below[j]) + own[j - 1]) + own[j + 1]) / 4.0;
    }
    const double sum = square_sum(job, start, order);
    for (size_t rank = 0; rank < job->ranks; rank++) {
        job->residual[rank] = sum;
        job->iteration[rank]++;
    }
    job->driver->advance(job->oracle, "an iteration");
}

static void change_some(struct job *job, uint64_t *state)
{
    for (size_t c = 0; c < CHANGES; c++) {
        const size_t rank = (size_t)(numalab_splitmix(state) % job->ranks);
        struct numalab_change change;
        double value;
        EXPECT(job->driver->change(job->driver->select_rank(job->oracle, rank),
                                   numalab_splitmix(state), numalab_splitmix(state),
                                   &change) == 0);
        memcpy(&value, change.value, sizeof value);
        EXPECT(value >= 0.0 && value < 16.0 && value * 0x1p20 == floor(value * 0x1p20));
        const size_t i = change.element / job->columns, j = change.element % job->columns;
        EXPECT(i >= 1 && i <= rows_of(job, rank) && j >= 1 && j <= job->n);
        EXPECT(change.array == (size_t)(job->iteration[rank] % 2));
        job->array[rank][change.array][change.element] = value;
    }
}

static size_t count_in_rank(const struct job *job, size_t rank, size_t chunk,
                            struct numalab_mismatch *mismatch)
{
    const struct numalab_oracle *view = job->driver->select_rank(job->oracle, rank);
    struct numalab_mismatch here;
    size_t mismatches = 0;
    for (size_t k = FIELD; k <= NEXT; k++)
        for (size_t first = 0; first < elements(job, rank); first += chunk) {
            const size_t left = elements(job, rank) - first, size = left < chunk ? left : chunk;
            const size_t actual = job->driver->compare(view, k, first, size,
                                                      job->array[rank][k] + first, &here);
            if (actual && !mismatches) *mismatch = here;
            mismatches += actual;
        }
    const void *single[] = {&job->residual[rank], &job->iteration[rank]};
    for (size_t k = RESIDUAL; k <= ITERATION; k++) {
        const size_t actual =
            job->driver->compare(view, k, 0, 1, single[k - RESIDUAL], &here);
        if (actual && !mismatches) *mismatch = here;
        mismatches += actual;
    }
    return mismatches;
}

static size_t count_mismatches(const struct job *job, size_t chunk,
                             struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t rank = 0; rank < job->ranks; rank++) {
        struct numalab_mismatch here;
        const size_t actual = count_in_rank(job, rank, chunk, &here);
        if (actual && !mismatches) *mismatch = here;
        mismatches += actual;
    }
    return mismatches;
}

/* Right in every size and with every number of ranks, whatever is changed meanwhile. */
static void test_results(size_t n, size_t ranks)
{
    struct job job;
    struct numalab_mismatch mismatch;
    uint64_t state = n + ranks;
    start(&job, n, ranks);
    for (int life = 0; life < 2; life++) {
        initialize(&job);
        EXPECT(count_mismatches(&job, 77, &mismatch) == 0);
        for (size_t repetition = 0; repetition < REPETITIONS; repetition++) {
            change_some(&job, &state);
            iterate(&job, (enum order)(repetition % ORDERS));
            EXPECT(count_mismatches(&job, 77, &mismatch) == 0);
            EXPECT(count_mismatches(&job, SIZE_MAX / 2, &mismatch) == 0);
        }
    }
    end(&job);
}

/* One element of a rank's array gets a wrong value: found and named, unless nobody asks. */
static void expect_element(const struct job *job, size_t rank, size_t k, size_t i, size_t j,
                           bool is_mismatch)
{
    struct numalab_mismatch mismatch = {0};
    const size_t element = i * job->columns + j;
    double *value = &job->array[rank][k][element], kept = *value;
    *value = kept == 0.0 ? 1e-300 : kept * (1.0 + DBL_EPSILON);
    EXPECT(count_in_rank(job, rank, 100, &mismatch) == (is_mismatch ? 1 : 0));
    if (is_mismatch) {
        EXPECT(mismatch.array == k && mismatch.element == element);
        EXPECT(mismatch.expected == kept && mismatch.actual == *value);
    }
    *value = NAN;
    EXPECT(count_in_rank(job, rank, 100, &mismatch) == (is_mismatch ? 1 : 0));
    *value = kept;
    EXPECT(count_in_rank(job, rank, 100, &mismatch) == 0);
}

static void test_places(void)
{
    struct job job;
    uint64_t state = 5;
    start(&job, 64, 3);
    initialize(&job);
    for (size_t repetition = 0; repetition < 4; repetition++) {
        const size_t last_read = (size_t)((job.iteration[0] + 1) % 2);
        for (size_t rank = 0; rank < job.ranks; rank++)
            for (size_t k = FIELD; k <= NEXT; k++) {
                const size_t rows = rows_of(&job, rank);
                const bool is_compared = repetition == 0 || k == last_read;
                expect_element(&job, rank, k, 0, 7, rank == 0 || is_compared);
                expect_element(&job, rank, k, rows + 1, 0, rank == 2 || is_compared);
                expect_element(&job, rank, k, 1, 0, true);
                expect_element(&job, rank, k, rows / 2, 33, true);
                expect_element(&job, rank, k, rows, job.columns - 1, true);
            }
        change_some(&job, &state);
        iterate(&job, ROWWISE);
    }
    end(&job);
}

/* Rows that are not the rank's own have names, others and results have none. */
static void test_row_names(void)
{
    struct job job;
    start(&job, 64, 3);
    for (size_t rank = 0; rank < job.ranks; rank++) {
        const struct numalab_oracle *own = job.driver->select_rank(job.oracle, rank);
        const size_t below = (rows_of(&job, rank) + 1) * job.columns;
        const char *above_name = job.driver->row_name(own, NEXT, job.columns - 1);
        const char *below_name = job.driver->row_name(own, FIELD, below);
        EXPECT((strstr(above_name, "rank above") != NULL) == (rank > 0));
        EXPECT((strstr(below_name, "rank below") != NULL) == (rank < 2));
        EXPECT(job.driver->row_name(own, FIELD, job.columns) == NULL);
        EXPECT(job.driver->row_name(own, FIELD, below - 1) == NULL);
        EXPECT(job.driver->row_name(own, RESIDUAL, 0) == NULL);
    }
    end(&job);
}

/* What students' kernels get wrong. */
static void test_mistakes(void)
{
    struct job job;
    struct numalab_mismatch mismatch;
    uint64_t state = 9;
    start(&job, 64, 4);
    initialize(&job);
    for (size_t repetition = 0; repetition < 3; repetition++) {
        change_some(&job, &state);
        iterate(&job, BACKWARDS);
    }
    const size_t read_last = 0; /* the third iteration read field */
    const size_t row_bytes = job.columns * sizeof(double);
    double *halo = job.array[1][read_last], kept[66];

    /* The halo of before, and a row of the wrong rank. */
    memcpy(kept, halo, row_bytes);
    memcpy(halo, job.array[1][1 - read_last], row_bytes);
    EXPECT(count_in_rank(&job, 1, 1000, &mismatch) > 32 && mismatch.element < job.columns);
    memcpy(halo, job.array[2][read_last] + job.columns, row_bytes);
    EXPECT(count_in_rank(&job, 1, 1000, &mismatch) > 32);
    memcpy(halo, kept, row_bytes);

    /* Neighbours in a ring: the boundary is one of the others' rows. */
    memcpy(job.array[0][read_last], job.array[3][read_last] + 16 * job.columns, row_bytes);
    EXPECT(count_in_rank(&job, 0, 1000, &mismatch) > 32 && mismatch.expected == 0.0);
    memset(job.array[0][read_last], 0, row_bytes);
    EXPECT(count_mismatches(&job, 1000, &mismatch) == 0);

    /* A residual of one rank, with a square too few, from the iteration before, no number. */
    const double right = job.residual[2];
    const double least = right / (64.0 * 64.0) / 1000.0;
    const double mismatches[] = {right / 4.0, right - least, right + least, -1.0, 0.0, NAN};
    for (size_t i = 0; i < sizeof mismatches / sizeof mismatches[0]; i++) {
        job.residual[2] = mismatches[i];
        EXPECT(count_mismatches(&job, 1000, &mismatch) == 1 && mismatch.array == RESIDUAL);
    }
    job.residual[2] = right;
    job.iteration[3]++;
    EXPECT(count_mismatches(&job, 1000, &mismatch) == 1 && mismatch.array == ITERATION);
    job.iteration[3]--;

    /* A changed input that the next iteration does not use. */
    struct numalab_change change;
    struct numalab_oracle *view = job.driver->select_rank(job.oracle, 1);
    EXPECT(job.driver->change(view, 100, UINT64_MAX, &change) == 0);
    EXPECT(count_mismatches(&job, 1000, &mismatch) == 1 && mismatch.array == change.array);
    const size_t before = change.element;
    iterate(&job, ROWWISE);
    EXPECT(count_mismatches(&job, 1000, &mismatch) > 4);
    EXPECT(count_in_rank(&job, 1, 1000, &mismatch) > 4 && before > 0);
    end(&job);
}

static void test_drivers(void)
{
    const struct numalab_driver *code = numalab_drivers[0], *launch = numalab_drivers[1];
    EXPECT(strcmp(code->part, "code") == 0 && strcmp(launch->part, "launch") == 0);
    EXPECT(numalab_drivers[2] == NULL);
    EXPECT(code->bytes_moved(1000) == 40000000 && code->bytes_allocated(1000) == 8000000);
    EXPECT(code->array_count == ARRAYS && code->array_count <= NUMALAB_MAX_ARRAYS);
    /* Rows of whole pages, so that the trace is as driver.c says. */
    EXPECT(field_columns(code->evidence_n) * sizeof(double) % 4096 == 0);
    for (size_t i = 0; code->check_n[i] != SIZE_MAX; i++)
        for (size_t r = 0; code->rank_counts[r]; r++)
            EXPECT(code->check_n[i] >= code->rank_counts[r]);
}

int main(void)
{
    test_drivers();
    for (size_t ranks = 1; ranks <= MAX_RANKS; ranks++)
        for (size_t n = 4; n <= 64; n += n < 8 ? 1 : 8) test_results(n, ranks);
    test_results(301, 3);
    test_places();
    test_row_names();
    test_mistakes();
    return failures > 0;
}
