/* Lab 07: the arrays of a rank, what they should hold, and the bytes that have to move.
 *
 * The oracle computes the whole field at once, without ranks, boundary included: n + 2 rows.
 * The array of a rank is a piece of it, rows + 2 rows from first_row on. What a rank's array
 * and the whole one may differ in are the halo rows between ranks:
 *   - before the first iteration they are 0, as the contract has it;
 *   - of the array that the last iteration read they are the neighbours' rows. Nothing tells a
 *     wrong exchange better, so they are compared;
 *   - of the other array they are what the iteration before left there, or 0. Nobody reads
 *     them before they are written again, so they are not compared.
 * The halo rows of the boundary are 0 at all times in both arrays, or, where exchange_halo sets
 * them (stencil.h), like the other halo rows.
 *
 * field and next: the contract gives the order of the additions, and all products are with
 * powers of two, exact whether they are fused with an addition or not, so results are compared
 * bit for bit.
 *
 * residual: with the fields right bit for bit, so are the differences; all N = n^2 squares
 * are positive or 0. With u = 2^-53 and errors relative, the kernel's square is off by u (by
 * nothing where it is fused with the addition), and its sum by (N - 1) u at most, in whatever
 * order threads and ranks add. The oracle adds the squares of a column plainly, (n - 1) u, and
 * the columns' sums in two doubles, with the last rounding 3 u, its squares being off by u
 * themselves. Together that is (N + n + 3) u; SLACK_ULPS leaves room for terms of second
 * order. A single square left out is about 1 / N of the sum: for n = 2000 that is
 * 500 times as much as the tolerance. The sum of one rank only is half of it or less.
 *
 * evidence_n. A trace is of one rank with T threads, and every row of 1022 + 2 doubles
 * is two whole pages, so a page belongs to one row. Where the shares of two threads meet, the
 * last row of one and the first of the other are read by both, and their pages agree with
 * nobody: 4 pages of each array that is read so, for T - 1 borders, of 4096 pages in both
 * arrays. With T = 16 that is 120 pages, 2.9 %; with the two halo rows, should one thread
 * write both, 3.0 %. 5 % are allowed, which is enough for 25 threads. (On machines with
 * several NUMA nodes only the borders between those count. So few_pages_n may have rows of
 * one page: with 8 NUMA nodes 28 pages of 1024.) */
#include "numalab/driver.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "stencil.h"

enum { FIELD, NEXT, RESIDUAL, ITERATION };
enum { SLACK_ULPS = 16 };

/* The whole field in both arrays, (n + 2) x (n + 2), and what every rank has alike. */
struct whole {
    size_t n, columns;
    double *value[2];   /* of FIELD and NEXT */
    double *column_sum; /* of one iteration's squares */
    double residual;
    int64_t iterations;
};

/* The rows that a rank has of it; of the whole one, all. */
struct numalab_oracle {
    struct whole *whole;
    size_t first_row, rows;
    struct numalab_oracle *ranks; /* of the whole one; else NULL */
};

/* What two doubles hold together; low is the rounding error of high. */
struct long_sum {
    double high, low;
};

static const struct numalab_array arrays[] = {
    [FIELD] = {"field", sizeof(double)},
    [NEXT] = {"next", sizeof(double)},
    [RESIDUAL] = {"residual", sizeof(double)},
    [ITERATION] = {"iteration", sizeof(int64_t)},
};

/* Up to four. */
static const size_t rank_counts[] = {1, 2, 3, 4, 0};
/* Of one row per rank, of odd and unequal numbers of rows, and of some hundred. */
static const size_t check_n[] = {4, 5, 7, 64, 301, SIZE_MAX};

static size_t element_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    return array <= NEXT ? (rank_rows(n, rank, ranks) + 2) * field_columns(n) : 1;
}

/* The array that the sweep writes: its lines are fetched first. */
static size_t bytes_allocated(size_t n)
{
    return n * n * sizeof(double);
}

/* The sweep reads one array and writes the other, the residual reads both. */
static size_t bytes_moved(size_t n)
{
    return 4 * n * n * sizeof(double) + bytes_allocated(n);
}

static void destroy(struct numalab_oracle *oracle)
{
    struct whole *whole = oracle->whole;
    if (whole) {
        free(whole->value[FIELD]);
        free(whole->value[NEXT]);
        free(whole->column_sum);
    }
    free(whole);
    free(oracle->ranks);
    free(oracle);
}

static struct whole *create_whole(size_t n)
{
    struct whole *whole = calloc(1, sizeof *whole);
    if (!whole) return NULL;
    whole->n = n;
    whole->columns = field_columns(n);
    for (size_t k = FIELD; k <= NEXT; k++)
        whole->value[k] = calloc((n + 2) * whole->columns, sizeof *whole->value[k]);
    whole->column_sum = calloc(whole->columns, sizeof *whole->column_sum);
    return whole;
}

static struct numalab_oracle *create(size_t n, size_t ranks, bool is_brief)
{
    (void)is_brief; /* a call is one step, whoever looks */
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->rows = n;
    oracle->whole = create_whole(n);
    oracle->ranks = calloc(ranks, sizeof *oracle->ranks);
    if (!oracle->ranks || !oracle->whole || !oracle->whole->value[FIELD] ||
        !oracle->whole->value[NEXT] || !oracle->whole->column_sum) {
        destroy(oracle);
        return NULL;
    }
    for (size_t rank = 0; rank < ranks; rank++)
        oracle->ranks[rank] = (struct numalab_oracle){
            .whole = oracle->whole,
            .first_row = rank_first_row(n, rank, ranks),
            .rows = rank_rows(n, rank, ranks),
        };
    return oracle;
}

static struct numalab_oracle *select_rank(struct numalab_oracle *oracle, size_t rank)
{
    return &oracle->ranks[rank];
}

/* Adds without losing what high can't hold (Knuth's two-sum). */
static void add(struct long_sum *sum, double addend)
{
    const double high = sum->high + addend;
    const double added = high - sum->high;
    sum->low += (sum->high - (high - added)) + (addend - added);
    sum->high = high;
}

/* The array that the next iteration reads, and that the last one wrote. */
static size_t read_next(const struct whole *whole)
{
    return (size_t)(whole->iterations % 2);
}

static void set_initial_values(struct whole *whole)
{
    const size_t columns = whole->columns;
    /* The boundary is 0 from the beginning; only set_border writes to it. */
    for (size_t i = 1; i <= whole->n; i++)
        for (size_t j = 1; j <= whole->n; j++)
            for (size_t k = FIELD; k <= NEXT; k++)
                whole->value[k][i * columns + j] = initial_value(i - 1, j);
    whole->residual = initial_residual;
    whole->iterations = 0;
}

static void iterate(struct whole *whole)
{
    const size_t columns = whole->columns;
    double *current = whole->value[read_next(whole)];
    double *other = whole->value[1 - read_next(whole)];
    double *restrict column_sum = whole->column_sum;
    struct long_sum sum = {0};

    set_border(whole->n, columns, current);
    memset(column_sum, 0, columns * sizeof *column_sum);
    for (size_t i = 1; i <= whole->n; i++) {
        const double *own = current + i * columns;
        const double *above = own - columns, *below = own + columns;
        double *restrict next = other + i * columns;
        for (size_t j = 1; j <= whole->n; j++) {
            next[j] = stencil(above, own, below, j);
            const double difference = next[j] - own[j];
            column_sum[j] += difference * difference;
        }
    }
    for (size_t j = 1; j <= whole->n; j++) add(&sum, column_sum[j]);
    whole->residual = sum.high + sum.low;
    whole->iterations++;
}

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "initialize") == 0) set_initial_values(oracle->whole);
    if (strcmp(phase, "an iteration") == 0) iterate(oracle->whole);
}

/* An own inner point of the array that the next iteration reads: a multiple of 2^-20 below
 * 16, too long for single precision after an iteration or two. */
static int change(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    struct whole *whole = oracle->whole;
    const size_t point = (size_t)(random_position % (oracle->rows * whole->n));
    const size_t i = 1 + point / whole->n, j = 1 + point % whole->n;
    const double value = (double)(random_value >> 40) * 0x1p-20;

    change->array = read_next(whole);
    change->element = i * whole->columns + j;
    memcpy(change->value, &value, sizeof value);
    whole->value[change->array][(oracle->first_row + i) * whole->columns + j] = value;
    return 0;
}

/* What a row of a rank's array should hold: values of the whole field, only zeros, or
 * something that nobody asks for. */
enum row_kind { FIELD_VALUES, ZEROS, ANYTHING };

static enum row_kind kind_of(const struct numalab_oracle *oracle, size_t array, size_t row)
{
    const struct whole *whole = oracle->whole;
    const bool is_exchanged =
        (row == 0 && (border_is_exchanged || oracle->first_row > 0)) ||
        (row == oracle->rows + 1 &&
         (border_is_exchanged || oracle->first_row + oracle->rows < whole->n));
    if (!is_exchanged) return FIELD_VALUES;
    if (whole->iterations == 0) return ZEROS;
    return array == read_next(whole) ? ANYTHING : FIELD_VALUES;
}

static size_t compare_field(const struct numalab_oracle *oracle, size_t array, size_t first,
                            size_t count, const double *actual, struct numalab_mismatch *mismatch)
{
    const size_t columns = oracle->whole->columns;
    const double *field = oracle->whole->value[array] + oracle->first_row * columns;
    size_t mismatches = 0;
    for (size_t element = first; element < first + count;) {
        const size_t row = element / columns;
        const enum row_kind kind = kind_of(oracle, array, row);
        size_t end = (row + 1) * columns;
        if (end > first + count) end = first + count;
        for (; element < end; element++) {
            const double expected = kind == FIELD_VALUES ? field[element] : 0.0;
            const double value = actual[element - first];
            /* Negated, so that NaN is wrong. */
            if (kind != ANYTHING && !(value == expected) && mismatches++ == 0)
                *mismatch = (struct numalab_mismatch){array, element, expected, value, "", ""};
        }
    }
    return mismatches;
}

static double residual_slack(const struct whole *whole)
{
    const double n = (double)whole->n;
    if (whole->iterations == 0) return 0.0;
    return (n * n + n + SLACK_ULPS) * 0x1p-53 * whole->residual;
}

static size_t compare(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch)
{
    const struct whole *whole = oracle->whole;
    if (array <= NEXT) return compare_field(oracle, array, first, count, actual, mismatch);
    if (count == 0) return 0;

    double value, expected, slack = 0.0;
    if (array == RESIDUAL) {
        value = *(const double *)actual;
        expected = whole->residual;
        slack = residual_slack(whole);
    } else {
        const int64_t counted = *(const int64_t *)actual, due = (int64_t)whole->iterations;
        if (counted != due) *mismatch = numalab_make_signed_mismatch(array, first, due, counted);
        return counted != due;
    }
    if (fabs(value - expected) <= slack) return 0;
    *mismatch = (struct numalab_mismatch){array, first, expected, value, "", ""};
    return 1;
}

static bool place(size_t n, size_t array, size_t element, size_t *row, size_t *column)
{
    *row = element / field_columns(n);
    *column = element % field_columns(n);
    return array == FIELD || array == NEXT;
}

static const char *row_name(const struct numalab_oracle *oracle, size_t array, size_t element)
{
    if (array > NEXT) return NULL;
    const size_t row = element / oracle->whole->columns;
    if (row > 0 && row <= oracle->rows) return NULL;
    if (row == 0 && oracle->first_row > 0) return "the halo row from the rank above";
    if (row > 0 && oracle->first_row + oracle->rows < oracle->whole->n)
        return "the halo row from the rank below";
    return "the boundary";
}

/* The student's kernel, and the kit's, which students only launch. */
#define DRIVER_OF(name)                                                                            \
    {                                                                                              \
        .lab = "07_hybrid",                                                                        \
        .part = name,                                                                              \
        .arrays = arrays,                                                                          \
        .array_count = sizeof arrays / sizeof arrays[0],                                           \
        .start_phase = "start_mpi",                                                                \
        .initialize_phase = "initialize",                                                          \
        .compute_phase = "an iteration",                                                           \
        .rank_counts = rank_counts,                                                                \
        .count = element_count,                                                                    \
        .check_n = check_n,                                                                        \
        .timed_n = {1000, 2000, 2000},                                                             \
        .evidence_n = 1022,                                                                        \
        .few_pages_n = 510,                                                                        \
        .bytes_moved = bytes_moved,                                                                \
        .bytes_allocated = bytes_allocated,                                                        \
        .create_ranks = create,                                                                    \
        .select_rank = select_rank,                                                                \
        .destroy = destroy,                                                                        \
        .advance = advance,                                                                        \
        .change = change,                                                                          \
        .compare = compare,                                                                        \
        .place = place,                                                                            \
        .row_name = row_name,                                                                      \
    }

static const struct numalab_driver code_driver = DRIVER_OF("code");
static const struct numalab_driver launch_driver = DRIVER_OF("launch");

const struct numalab_driver *const numalab_drivers[] = {&code_driver, &launch_driver, NULL};
