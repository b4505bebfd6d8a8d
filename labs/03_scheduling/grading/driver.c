/* Lab 03: the arrays of the two kernels, what they should hold, and the bytes that have
 * to move.
 *
 * pair_energy. At first the particles stand on a line where all differences of coordinates are
 * exact, so the term of i and j depends on i - j alone, bit for bit, and the energies are partial
 * sums of one series: n terms, however large n is. Between repetitions all particles go to places
 * of their own. Were it a few, a kernel could keep what it had and replace their terms only, 18
 * times as fast with one thread as the solution; were they on a line again, it could sum the
 * series. Then an energy is summed term by term when it is compared: of all after the last timed
 * repetition, and of SPOT_ELEMENTS at each place that is looked at in between, which no kernel
 * knows before. Sums are kept in two doubles, about 106 bits.
 *
 * Tolerance, with u = 2^-53 and errors relative: a difference of coordinates is off by u at
 * most, its square by 3 u, the sum of three squares and 1e-6 by 6 u, the root by 4 u, the
 * term by 5 u; fused operations round less often. All terms are positive, so a sum of i
 * terms is off by (i - 1 + 5) u at most, in whatever order they are added, and the
 * oracle's by 6 u: together (i + 10) u. SLACK_ULPS leaves room for terms of second order.
 * Single precision anywhere is off by 1e-8 and more; a term left out, or one too many, by
 * more than 1 / (1000 i).
 *
 * stream_update. b, c and the values that they change to are multiples of 2^-30 below
 * 2^10. Then 3 c and b + 3 c, below 2^12, have 42 bits and are exact, fused or not:
 * results are compared bit for bit. */
#include "numalab/driver.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "numalab/random.h"

enum { X, Y, Z, E };
enum { A, B, C };
enum { MAX_ARRAYS = 4, SLACK_ULPS = 16, SPOT_ELEMENTS = 4 };
enum { PAGE_ELEMENTS = NUMALAB_SMALL_PAGE_BYTES / sizeof(double) };
static const double softening = 1e-6;

/* What two doubles hold together; low is the rounding error of high. */
struct long_sum {
    double high, low;
};

struct numalab_oracle {
    size_t n;
    double *value[MAX_ARRAYS]; /* what the arrays should hold, in the driver's order */

    /* Of pair_energy: where e is not value[E], but the energy of where the particles are. Places
     * change in between, so those that e was computed from are kept. is_on_line: where they begin.
     */
    bool is_on_line, is_summed;
    double *place[E]; /* X, Y, Z */
};

static const struct numalab_array pair_arrays[] = {
    [X] = {"x", sizeof(double)},
    [Y] = {"y", sizeof(double)},
    [Z] = {"z", sizeof(double)},
    [E] = {"e", sizeof(double)},
};

static const struct numalab_array stream_arrays[] = {
    [A] = {"a", sizeof(double)},
    [B] = {"b", sizeof(double)},
    [C] = {"c", sizeof(double)},
};

/* Four arrays that fit a core's cache, and n times n / 2 pairs: arithmetic sets the pace. */
static size_t pair_bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

/* a is written, and its lines are fetched first; b and c are read. */
static size_t stream_bytes_allocated(size_t n)
{
    return n * sizeof(double);
}

static size_t stream_bytes_moved(size_t n)
{
    return 3 * n * sizeof(double) + stream_bytes_allocated(n);
}

static void destroy(struct numalab_oracle *oracle)
{
    for (size_t i = 0; i < MAX_ARRAYS; i++) free(oracle->value[i]);
    for (size_t axis = X; axis < E; axis++) free(oracle->place[axis]);
    free(oracle);
}

static struct numalab_oracle *create(size_t n, size_t array_count)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->n = n;
    for (size_t i = 0; i < array_count; i++) {
        oracle->value[i] = calloc(n, sizeof *oracle->value[i]);
        if (!oracle->value[i]) {
            destroy(oracle);
            return NULL;
        }
    }
    return oracle;
}

static void put(struct numalab_oracle *oracle, size_t array, size_t element, double value,
                struct numalab_change *change)
{
    change->array = array;
    change->element = element;
    memcpy(change->value, &value, sizeof value);
    oracle->value[array][element] = value;
}

/* Whether a value is farther than slack_ulps, relative, from what is expected; written so that NaN
 * is wrong. */
static bool differs(double actual, double expected, double slack_ulps)
{
    const double u = DBL_EPSILON / 2;
    return !(fabs(actual - expected) <= slack_ulps * u * fabs(expected));
}

/* Of values that are exact. */
static size_t compare_exact(const double *expected, size_t array, size_t first, size_t count,
                            const double *actual, struct numalab_mismatch *mismatch)
{
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t element = first + i;
        if (differs(actual[i], expected[element], 0.0) && mismatches++ == 0)
            *mismatch =
                (struct numalab_mismatch){array, element, expected[element], actual[i], "", ""};
    }
    return mismatches;
}

/* ---- pair_energy ------------------------------------------------------------- */

static struct numalab_oracle *pair_create(size_t n)
{
    struct numalab_oracle *oracle = create(n, sizeof pair_arrays / sizeof pair_arrays[0]);
    for (size_t axis = X; oracle && axis < E; axis++) {
        oracle->place[axis] = calloc(n, sizeof *oracle->place[axis]);
        if (oracle->place[axis]) continue;
        destroy(oracle);
        return NULL;
    }
    return oracle;
}

static double term(double *const *place, size_t i, size_t j)
{
    const double dx = place[X][i] - place[X][j];
    const double dy = place[Y][i] - place[Y][j];
    const double dz = place[Z][i] - place[Z][j];
    return 1.0 / sqrt(dx * dx + dy * dy + dz * dz + softening);
}

/* Adds without losing what high can't hold (Knuth's two-sum). */
static void add(struct long_sum *sum, double addend)
{
    const double high = sum->high + addend;
    const double added = high - sum->high;
    sum->low += (sum->high - (high - added)) + (addend - added);
    sum->high = high;
}

/* In several sums, which need not wait for each other. */
static double energy_of(double *const *place, size_t i)
{
    enum { SUMS = 4 };
    struct long_sum sum[SUMS] = {{0}};
    size_t j = 0;
    for (; j + SUMS <= i; j += SUMS)
        for (size_t k = 0; k < SUMS; k++) add(&sum[k], term(place, i, j + k));
    for (; j < i; j++) add(&sum[0], term(place, i, j));
    for (size_t k = 1; k < SUMS; k++) {
        add(&sum[0], sum[k].high);
        add(&sum[0], sum[k].low);
    }
    return sum[0].high + sum[0].low;
}

static void pair_initialize(struct numalab_oracle *oracle)
{
    for (size_t i = 0; i < oracle->n; i++) {
        oracle->value[X][i] = initial_x(i);
        oracle->value[Y][i] = initial_y(i);
        oracle->value[Z][i] = initial_z(i);
        oracle->value[E][i] = initial_e;
    }
    oracle->is_on_line = true;
    oracle->is_summed = false;
}

static void pair_advance(struct numalab_oracle *oracle, const char *phase)
{
    struct long_sum sum = {0};
    if (strcmp(phase, "initialize_pairs") == 0) {
        pair_initialize(oracle);
        return;
    }
    oracle->is_summed = !oracle->is_on_line;
    for (size_t axis = X; axis < E && oracle->is_summed; axis++)
        memcpy(oracle->place[axis], oracle->value[axis], oracle->n * sizeof(double));
    for (size_t i = 0; i < oracle->n && oracle->is_on_line; i++) {
        if (i > 0) add(&sum, term(oracle->value, i, 0));
        oracle->value[E][i] = sum.high + sum.low;
    }
}

/* Anywhere in the cube around the line. */
static void pair_renew(struct numalab_oracle *oracle, uint64_t random)
{
    const double edge = initial_y(oracle->n);
    for (size_t axis = X; axis < E; axis++)
        for (size_t i = 0; i < oracle->n; i++)
            oracle->value[axis][i] = numalab_fraction(numalab_splitmix(&random)) * edge;
    oracle->is_on_line = false;
}

static const void *pair_renewed(const struct numalab_oracle *oracle, size_t array)
{
    return array == E ? NULL : oracle->value[array];
}

static size_t pair_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                           size_t count, const void *actual_pointer,
                           struct numalab_mismatch *mismatch)
{
    const double *actual = actual_pointer;
    size_t mismatches = 0;
    if (array != E)
        return compare_exact(oracle->value[array], array, first, count, actual, mismatch);
    for (size_t i = 0; i < count; i++) {
        const size_t element = first + i;
        const double expected =
            oracle->is_summed ? energy_of(oracle->place, element) : oracle->value[E][element];
        if (differs(actual[i], expected, SLACK_ULPS + (double)element) && mismatches++ == 0)
            *mismatch = (struct numalab_mismatch){array, element, expected, actual[i], "", ""};
    }
    return mismatches;
}

/* ---- stream_update ------------------------------------------------------------ */

static struct numalab_oracle *stream_create(size_t n)
{
    return create(n, sizeof stream_arrays / sizeof stream_arrays[0]);
}

static void stream_advance(struct numalab_oracle *oracle, const char *phase)
{
    double *const *value = oracle->value;
    const bool is_initialize = strcmp(phase, "initialize_stream") == 0;
    for (size_t i = 0; i < oracle->n; i++) {
        if (is_initialize) {
            value[A][i] = initial_a;
            value[B][i] = initial_b(i);
            value[C][i] = initial_c(i);
        } else {
            value[A][i] = value[B][i] + 3.0 * value[C][i];
        }
    }
}

static int stream_change(struct numalab_oracle *oracle, uint64_t random_position,
                         uint64_t random_value, struct numalab_change *change)
{
    const size_t array = random_value % 2 ? B : C;
    const double value = floor(numalab_fraction(random_value) * 0x1p40) * 0x1p-30;
    put(oracle, array, (size_t)(random_position % oracle->n), value, change);
    return 0;
}

static size_t stream_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                             size_t count, const void *actual, struct numalab_mismatch *mismatch)
{
    return compare_exact(oracle->value[array], array, first, count, actual, mismatch);
}

static const struct numalab_driver pair_driver = {
    .lab = "03_scheduling",
    .part = "pair_energy",
    .arrays = pair_arrays,
    .array_count = sizeof pair_arrays / sizeof pair_arrays[0],
    .initialize_phase = "initialize_pairs",
    .compute_phase = "pair_energy",
    .timed_n = {3000, 6000, 6000},
    /* Long beside the milliseconds that other programs take a core for. 2^21 particles, as other
     * arrays have elements, would be 2 * 10^12 pairs. */
    .evidence_n = 16000,
    .largest_check_n = 1511, /* 1.1 million pairs per call */
    .bytes_moved = pair_bytes_moved,
    .create = pair_create,
    .destroy = destroy,
    .advance = pair_advance,
    .renew = pair_renew,
    .renewed = pair_renewed,
    .spot_elements = {[E] = SPOT_ELEMENTS},
    .compare = pair_compare,
};

static const struct numalab_driver stream_driver = {
    .lab = "03_scheduling",
    .part = "stream_update",
    .arrays = stream_arrays,
    .array_count = sizeof stream_arrays / sizeof stream_arrays[0],
    .initialize_phase = "initialize_stream",
    .compute_phase = "stream_update",
    /* Small, since a loop handed out one element at a time takes its time: below what evidence
     * is taken with. A loop that is for one thread there has to be as fast with that one. */
    .timed_n = {400000, 2000000, 2000000},
    .elements_per_change = PAGE_ELEMENTS,
    .bytes_moved = stream_bytes_moved,
    .bytes_allocated = stream_bytes_allocated,
    .create = stream_create,
    .destroy = destroy,
    .advance = stream_advance,
    .change = stream_change,
    .compare = stream_compare,
};

const struct numalab_driver *const numalab_drivers[] = {&pair_driver, &stream_driver, NULL};
