/* Lab 00: the arrays of the two kernels, what they should hold, and the bytes that have to
 * move.
 *
 * triad. s is a multiple of 1/2 below 2^4; b, c and the values that they change to are multiples
 * of 2^-30 below 2^10. Then s c and b + s c, below 2^15, have 46 bits and are exact, fused or
 * not: results are compared bit for bit. s is a new one in each repetition, so no product and no
 * sum can be kept.
 *
 * chase. All elements are one cycle at all times, or a walk would soon go round in a few cache
 * lines. So a change takes an element out of the cycle, and puts it in elsewhere: where x -> p -> q
 * and y -> z, then x -> q and y -> p -> z, three elements that are written. Between the first and
 * the last of them p still leads to where the others are.
 *
 * What is not walked is not known. start is another one each time, anywhere. Two elements of the
 * stretch that is walked next are taken out of it, anywhere in it, and put in anywhere: so its end
 * is two elements further than it was, but for one walk in hundreds. What was kept of earlier calls
 * (the order of all elements, or where so many steps lead) is wrong then, and who would bring it up
 * to date has to find the places: by walking there, or by a look at all of next, which holds 512
 * times as many elements as are walked. Whoever does either, and is right, is not as fast as a
 * walk, or faster: the times tell. More changes would take longer to make than a walk does. */
#include "numalab/driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

enum { A, B, C, S };
enum { NEXT, START, STEPS, REACHED };
enum { MAX_ARRAYS = 4, MOVED = 3 };
enum { LEAST_TELLING_N = 6 };
enum { PAGE_ELEMENTS = NUMALAB_SMALL_PAGE_BYTES / sizeof(double) };

/* ---- triad ---------------------------------------------------------------------- */

struct sums {
    size_t n, drawn; /* drawn: changes since the last call */
    double *value[MAX_ARRAYS];
};

/* One change of a move. */
struct write {
    size_t element, value;
};

struct cycle {
    size_t n, drawn;
    size_t *next;
    struct write move[MOVED];
    size_t moved; /* how many of a move's changes are made; MOVED: it is over */
    size_t start, steps, reached;
    size_t previous, following; /* where a step less and a step more would have led */
    bool has_walked;            /* since the initialisation */
};

/* Of the part that it is made for; the other one is empty. */
struct numalab_oracle {
    struct sums sums;
    struct cycle cycle;
};

static const struct numalab_array triad_arrays[] = {
    [A] = {"a", sizeof(double)},
    [B] = {"b", sizeof(double)},
    [C] = {"c", sizeof(double)},
    [S] = {"s", sizeof(double)},
};

static const struct numalab_array chase_arrays[] = {
    [NEXT] = {"next", sizeof(size_t)},
    [START] = {"start", sizeof(size_t)},
    [STEPS] = {"steps", sizeof(size_t)},
    [REACHED] = {"reached", sizeof(size_t)},
};

static size_t triad_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    (void)rank;
    (void)ranks;
    return array == S ? 1 : n;
}

/* a is written, and its lines are fetched first; b and c are read. */
static size_t triad_bytes_allocated(size_t n)
{
    return n * sizeof(double);
}

static size_t triad_bytes_moved(size_t n)
{
    return 3 * n * sizeof(double) + triad_bytes_allocated(n);
}

static void destroy(struct numalab_oracle *oracle)
{
    for (size_t i = 0; i < MAX_ARRAYS; i++) free(oracle->sums.value[i]);
    free(oracle->cycle.next);
    free(oracle);
}

static struct numalab_oracle *triad_create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->sums.n = n;
    for (size_t i = 0; i < MAX_ARRAYS; i++) {
        oracle->sums.value[i] = calloc(triad_count(n, i, 0, 1), sizeof(double));
        if (!oracle->sums.value[i]) {
            destroy(oracle);
            return NULL;
        }
    }
    return oracle;
}

static void triad_advance(struct numalab_oracle *oracle, const char *phase)
{
    struct sums *sums = &oracle->sums;
    double *const *value = sums->value;
    const bool is_initialize = strcmp(phase, "initialize_triad") == 0;
    if (is_initialize) value[S][0] = initial_s;
    for (size_t i = 0; i < sums->n; i++) {
        if (is_initialize) {
            value[A][i] = initial_a;
            value[B][i] = initial_b(i);
            value[C][i] = initial_c(i);
        } else {
            value[A][i] = value[B][i] + value[S][0] * value[C][i];
        }
    }
    sums->drawn = 0;
}

/* Of 40 random bits, 0 to below 2^10. */
static double input_of(uint64_t random)
{
    return (double)(random >> 24) * 0x1p-30;
}

/* s is the first to change, and is another one each time. */
static int triad_change(struct numalab_oracle *oracle, uint64_t random_position,
                        uint64_t random_value, struct numalab_change *change)
{
    struct sums *sums = &oracle->sums;
    double value;
    if (sums->drawn++ == 0) {
        *change = (struct numalab_change){.array = S};
        value = 0.5 * (double)(2 + random_value % 16);
        if (value == sums->value[S][0]) value += 8.0;
    } else {
        *change = (struct numalab_change){.array = random_value % 2 ? B : C,
                                          .element = (size_t)(random_position % sums->n)};
        value = input_of(random_value);
    }
    sums->value[change->array][change->element] = value;
    memcpy(change->value, &value, sizeof value);
    return 0;
}

static size_t triad_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                            size_t count, const void *actual_pointer,
                            struct numalab_mismatch *mismatch)
{
    const double *actual = actual_pointer, *expected = oracle->sums.value[array] + first;
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++) /* Negated, so that NaN is wrong. */
        if (!(actual[i] == expected[i]) && mismatches++ == 0)
            *mismatch = (struct numalab_mismatch){array, first + i, expected[i], actual[i], "", ""};
    return mismatches;
}

/* ---- chase ---------------------------------------------------------------------- */

static size_t chase_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    (void)rank;
    (void)ranks;
    return array == NEXT ? n : 1;
}

/* One element at a time: latency sets the pace. */
static size_t chase_bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static size_t loads_in_chain(size_t n)
{
    return walk_steps(n);
}

static struct numalab_oracle *chase_create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->cycle.n = n;
    oracle->cycle.next = calloc(n, sizeof *oracle->cycle.next);
    if (oracle->cycle.next) return oracle;
    destroy(oracle);
    return NULL;
}

static void initialize_cycle(struct cycle *cycle)
{
    const uint64_t mask = cycle_mask(cycle->n);
    for (size_t i = 0; i < cycle->n; i++) cycle->next[i] = initial_next(cycle->n, mask, i);
    cycle->start = initial_start(cycle->n);
    cycle->steps = initial_steps(cycle->n);
    cycle->reached = cycle->previous = cycle->following = initial_reached(cycle->n);
    cycle->moved = MOVED;
    cycle->has_walked = false;
}

static size_t walk(const struct cycle *cycle, size_t place, size_t steps)
{
    for (size_t step = 0; step < steps; step++) place = cycle->next[place];
    return place;
}

static void reach(struct cycle *cycle)
{
    const size_t steps = cycle->steps;
    cycle->previous = steps > 0 ? walk(cycle, cycle->start, steps - 1) : initial_reached(cycle->n);
    cycle->reached = steps > 0 ? cycle->next[cycle->previous] : cycle->start;
    cycle->following = cycle->next[cycle->reached];
}

static void chase_advance(struct numalab_oracle *oracle, const char *phase)
{
    struct cycle *cycle = &oracle->cycle;
    if (strcmp(phase, "initialize_chase") == 0)
        initialize_cycle(cycle);
    else {
        reach(cycle);
        cycle->has_walked = true;
    }
    cycle->drawn = 0;
}

/* Begins to put what comes after x behind y; not where these are no three elements. */
static void begin_move(struct cycle *cycle, size_t x, size_t y)
{
    const size_t p = cycle->next[x];
    if (x == y || x == p || y == p) return;
    /* Right, too, where y comes just behind p, or x just behind y. */
    cycle->move[0] = (struct write){x, cycle->next[p]};
    cycle->move[1] = (struct write){p, cycle->next[y]};
    cycle->move[2] = (struct write){y, p};
    cycle->moved = 0;
}

/* The next change of an element; where a move is not possible, one that changes nothing.
 * steps_to_x: from start on. */
static struct write change_next(struct cycle *cycle, size_t steps_to_x, size_t y)
{
    if (cycle->moved == MOVED) begin_move(cycle, walk(cycle, cycle->start, steps_to_x), y);
    if (cycle->moved == MOVED) return (struct write){y, cycle->next[y]};
    const struct write write = cycle->move[cycle->moved++];
    cycle->next[write.element] = write.value;
    return write;
}

/* Whether a walk of so many steps, a step less, a step more, one step and none lead to five
 * elements, in a cycle of n elements or of one less, as it is in the midst of a move. */
static bool is_distinguishing(size_t n, size_t steps)
{
    return steps % n > 2 && steps % n < n - 1 && steps % (n - 1) > 2 && steps % (n - 1) < n - 2;
}

/* Where times are taken so nearly the same that it makes no difference to them; else up to twice
 * around. The first walk tells wrong ones apart, and so does each later one of more than two steps.
 * A small cycle has no such walk: the first is one step, which a wrong one can't take far out of
 * the array. */
static size_t steps_of(const struct cycle *cycle, uint64_t random)
{
    const size_t n = cycle->n, usual = walk_steps(n);
    if (n >= LEAST_TIMED_N) return usual + (size_t)(random % (usual / 128));
    if (n < LEAST_TELLING_N) return cycle->has_walked ? (size_t)(random % (2 * n + 1)) : 1;
    size_t steps = (size_t)(random % (2 * n));
    if (cycle->has_walked && steps <= 2) return steps;
    while (!is_distinguishing(n, steps)) steps = (steps + 1) % (2 * n);
    return steps;
}

/* start and steps are the first to change; the last move may end among the next changes. They are
 * few (elements_per_change), so that they are made in their order. */
static int chase_change(struct numalab_oracle *oracle, uint64_t random_position,
                        uint64_t random_value, struct numalab_change *change)
{
    struct cycle *cycle = &oracle->cycle;
    const size_t element = (size_t)(random_value % cycle->n);
    struct write write = {0};
    *change = (struct numalab_change){.array = NEXT};
    switch (cycle->drawn++) {
    case 0:
        change->array = START;
        write.value = cycle->start = element;
        break;
    case 1:
        change->array = STEPS;
        write.value = cycle->steps = steps_of(cycle, random_value);
        break;
    default:
        write = change_next(cycle, (size_t)(random_position % (cycle->steps + 1)), element);
        break;
    }
    change->element = write.element;
    memcpy(change->value, &write.value, sizeof write.value);
    return 0;
}

/* What an array should hold from an element on. */
static const size_t *expected_from(const struct cycle *cycle, size_t array, size_t first)
{
    switch (array) {
    case NEXT:
        return cycle->next + first;
    case START:
        return &cycle->start;
    case STEPS:
        return &cycle->steps;
    default:
        return &cycle->reached;
    }
}

static size_t chase_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                            size_t count, const void *actual_pointer,
                            struct numalab_mismatch *mismatch)
{
    const size_t *actual = actual_pointer, *expected = expected_from(&oracle->cycle, array, first);
    size_t mismatches = 0;
    if (memcmp(actual, expected, count * sizeof *actual) == 0) return 0;
    for (size_t i = 0; i < count; i++)
        if (actual[i] != expected[i] && mismatches++ == 0)
            *mismatch = numalab_make_unsigned_mismatch(array, first + i, expected[i], actual[i]);
    return mismatches;
}

/* Where a walk leads that takes the elements to be numbered from 1 on; n where it leaves the array,
 * as it does at index 0. */
static size_t walk_from_1(const struct cycle *cycle)
{
    size_t place = cycle->start;
    for (size_t step = 0; step < cycle->steps; step++) {
        if (!place) return cycle->n;
        place = cycle->next[place - 1];
    }
    return place;
}

/* Whether a walk that takes the elements to be numbered from 1 on has found this. What lies before
 * the array ends it, unless it is the last step that goes there. */
static bool is_from_1(const struct cycle *cycle, size_t actual)
{
    unsigned char previous[sizeof actual];
    memset(previous, NUMALAB_GUARD_PATTERN, sizeof previous);
    return memcmp(&actual, previous, sizeof actual) == 0 || actual == walk_from_1(cycle);
}

/* What leads to another element than the walk. */
static const char *explain(const struct cycle *cycle, size_t actual)
{
    if (actual >= cycle->n) return "no number of steps leads there: it is no index.";
    if (actual == cycle->next[cycle->start]) return "one step leads there.";
    if (actual == cycle->start) return "that is where it starts.";
    if (actual == cycle->previous) return "one step less leads there.";
    if (actual == cycle->following) return "one step more leads there.";
    return "no number of steps near that leads there.";
}

static void chase_remark(const struct numalab_oracle *oracle,
                         const struct numalab_mismatch *mismatch, size_t first, size_t count,
                         const void *actual_pointer, char remark[NUMALAB_REMARK_BYTES])
{
    const struct cycle *cycle = &oracle->cycle;
    size_t actual;
    (void)first;
    if (mismatch->array != REACHED || count != 1) return;
    memcpy(&actual, actual_pointer, sizeof actual);
    if (is_from_1(cycle, actual))
        snprintf(remark, NUMALAB_REMARK_BYTES,
                 "So it is where next's elements are numbered from 1 on; the lower bound is 0, in "
                 "Fortran next(0:*).");
    else
        snprintf(remark, NUMALAB_REMARK_BYTES, "Of a walk of %zu step%s from index %zu on %s",
                 cycle->steps, cycle->steps == 1 ? "" : "s", cycle->start, explain(cycle, actual));
}

static const struct numalab_driver triad_driver = {
    .lab = "00_know_your_node",
    .part = "triad",
    .arrays = triad_arrays,
    .array_count = sizeof triad_arrays / sizeof triad_arrays[0],
    .count = triad_count,
    .initialize_phase = "initialize_triad",
    .compute_phase = "triad",
    .elements_per_change = PAGE_ELEMENTS,
    .bytes_moved = triad_bytes_moved,
    .bytes_allocated = triad_bytes_allocated,
    .create = triad_create,
    .destroy = destroy,
    .advance = triad_advance,
    .change = triad_change,
    .compare = triad_compare,
};

static const struct numalab_driver chase_driver = {
    .lab = "00_know_your_node",
    .part = "chase",
    .arrays = chase_arrays,
    .array_count = sizeof chase_arrays / sizeof chase_arrays[0],
    .count = chase_count,
    .initialize_phase = "initialize_chase",
    .compute_phase = "chase",
    /* 64 and 512 MiB: more than the last-level cache of one thread on most nodes. Four times all
     * caches of a large node would take each of five processes seconds to fill. */
    .timed_n = {(size_t)1 << 23, (size_t)1 << 26, (size_t)1 << 26},
    .bytes_moved = chase_bytes_moved,
    .loads_in_chain = loads_in_chain,
    .create = chase_create,
    .destroy = destroy,
    .advance = chase_advance,
    .change = chase_change,
    .compare = chase_compare,
    .remark = chase_remark,
};

const struct numalab_driver *const numalab_drivers[] = {&triad_driver, &chase_driver, NULL};
