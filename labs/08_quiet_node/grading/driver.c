/* Lab 08: clocks and times whose truth is known, since they are drawn here.
 *
 * noise. The readings of a clock: each comes some time after the one before, what a reading takes
 * with its jitter, and now and then an interruption too short to count, or a stop. The clock shows
 * that in whole ticks. What a kernel should find is how many stops were drawn, and their lengths.
 * Lengths keep away from the least one, so that every sound detector counts the same ones: what is
 * too short to count is at most TOO_SHORT of it, a stop at least STOP of it. A tenth is let pass.
 *
 * decide. Two programs that are one, or of which one takes so many times as long; and what nodes
 * and clocks make of such times. Kinds differ in what they lead astray: each has a rule that is
 * taken in by it. A kind that goes both ways is drawn with equal programs half of the time. */
#include "numalab/driver.h"
#include "numalab/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conventions.h"
#include "inputs.h"

enum { READINGS, REQUEST, STOPS, STEAL };
enum { A, B, LENGTH, VERDICT };

/* Neither among so many readings at the begin nor at the end is there a stop, so that it makes no
 * difference whether the first or last pair is looked at; but for kinds that have one at once, and
 * so many that it makes none there either. */
enum { QUIET_ENDS = 16 };
static const double stop_least = 1.5, too_short_least = 0.2, too_short_most = 0.7;

/* Of what is found: within a tenth. */
static const double tolerance = 0.1;

struct clock {
    size_t n;
    int64_t *reading;
    int64_t request[REQUEST_LENGTH];
    int64_t stops, stolen_ns; /* the truth */
    bool has_run;
};

enum { LEAST_PAIRS = 5, MOST_PAIRS = 60 };

struct pairs {
    size_t n;
    double *time_s[2];
    int64_t length, verdict; /* verdict: the truth */
    bool has_run;
};

/* Of the part that it is made for; the other one is empty. */
struct numalab_oracle {
    struct clock clock;
    struct pairs pairs;
};

static const struct numalab_array noise_arrays[] = {
    [READINGS] = {"readings", sizeof(int64_t)},
    [REQUEST] = {"asked", sizeof(int64_t)},
    [STOPS] = {"stops", sizeof(int64_t)},
    [STEAL] = {"stolen_ns", sizeof(int64_t)},
};

static const struct numalab_array decide_arrays[] = {
    [A] = {"a_s", sizeof(double)},
    [B] = {"b_s", sizeof(double)},
    [LENGTH] = {"length", sizeof(int64_t)},
    [VERDICT] = {"verdict", sizeof(int64_t)},
};

static size_t noise_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    (void)rank;
    (void)ranks;
    return array == READINGS ? n : array == REQUEST ? REQUEST_LENGTH : 1;
}

static size_t decide_count(size_t n, size_t array, size_t rank, size_t ranks)
{
    (void)rank;
    (void)ranks;
    return array == A || array == B ? n : 1;
}

/* Nothing is timed. */
static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void destroy(struct numalab_oracle *oracle)
{
    free(oracle->clock.reading);
    for (size_t i = 0; i < 2; i++) free(oracle->pairs.time_s[i]);
    free(oracle);
}

/* ---- random numbers ------------------------------------------------------------------- */

/* From 0 to below 1. */
static double fraction(struct numalab_random *random)
{
    return numalab_fraction(numalab_random_next(random));
}

static double draw_between(struct numalab_random *random, double least, double most)
{
    return least + (most - least) * fraction(random);
}

static size_t draw_whole_between(struct numalab_random *random, size_t least, size_t most)
{
    return least + (size_t)(numalab_random_next(random) % (most - least + 1));
}

static bool is_drawn(struct numalab_random *random, double probability)
{
    return fraction(random) < probability;
}

/* Of mean 0 and standard deviation 1. */
static double normal(struct numalab_random *random)
{
    const double pi = 3.14159265358979323846;
    const double radius = sqrt(-2.0 * log(1.0 - fraction(random)));
    return radius * cos(2.0 * pi * fraction(random));
}

/* ---- noise: a clock ------------------------------------------------------------------- */

/* cost_ns: of a reading, and up to jitter of it more; tick_ns: of the clock; stop: probability that
 * one lies behind a reading, of a row of row_length of them, and apart readings at least behind the
 * last one; most: length of one, over the least length that counts; too_short: probability of an
 * interruption that does not count. starts_stopped: the first gap has a stop in it, and so may any:
 * what a reading takes does not follow from the first ones. */
struct clock_kind {
    double cost_ns, jitter, tick_ns, least_ns;
    double stop, most, too_short;
    size_t row_length, apart;
    bool starts_stopped;
};

static const char *const clock_kind_names[] = {"no stop",       "few stops",  "many stops",
                                               "stops in rows", "slow clock", "coarse clock",
                                               "long stops",    NULL};

static const struct clock_kind clock_kinds[] = {
    {.cost_ns = 40, .jitter = 0.5, .tick_ns = 1, .least_ns = 2000, .too_short = 0.05},
    {.cost_ns = 25,
     .jitter = 0.5,
     .tick_ns = 1,
     .least_ns = 2000,
     .stop = 0.003,
     .most = 20,
     .too_short = 0.02,
     .row_length = 1},
    {.cost_ns = 2000,
     .jitter = 0.1,
     .tick_ns = 1,
     .least_ns = 4000,
     .stop = 0.4,
     .most = 5,
     .too_short = 0.02,
     .row_length = 1,
     .starts_stopped = true},
    {.cost_ns = 60,
     .jitter = 0.3,
     .tick_ns = 1,
     .least_ns = 1000,
     .stop = 0.001,
     .most = 10,
     .too_short = 0.01,
     .row_length = 8},
    {.cost_ns = 50000,
     .jitter = 0.1,
     .tick_ns = 100,
     .least_ns = 75000,
     .stop = 0.05,
     .most = 3,
     .too_short = 0.1,
     .row_length = 1},
    {.cost_ns = 100,
     .jitter = 0.3,
     .tick_ns = 1000,
     .least_ns = 4000,
     .stop = 0.02,
     .most = 8,
     .row_length = 1},
    {.cost_ns = 30,
     .jitter = 0.5,
     .tick_ns = 1,
     .least_ns = 1000000,
     .stop = 0.006,
     .most = 900,
     .too_short = 0.01,
     .row_length = 1},
};
_Static_assert(sizeof clock_kinds / sizeof clock_kinds[0] + 1 ==
                   sizeof clock_kind_names / sizeof clock_kind_names[0],
               "each kind has a name");

static struct numalab_oracle *noise_create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->clock.n = n;
    oracle->clock.reading = calloc(n, sizeof *oracle->clock.reading);
    if (oracle->clock.reading) return oracle;
    destroy(oracle);
    return NULL;
}

static void noise_advance(struct numalab_oracle *oracle, const char *phase)
{
    struct clock *clock = &oracle->clock;
    clock->has_run = strcmp(phase, "set_clock") != 0;
    if (clock->has_run) return;
    for (size_t i = 0; i < clock->n; i++) clock->reading[i] = initial_reading(i);
    for (size_t i = 0; i < REQUEST_LENGTH; i++) clock->request[i] = initial_request(clock->n, i);
    clock->stops = clock->stolen_ns = 0;
}

static size_t draw_clock(struct clock *clock, const struct clock_kind *kind,
                         struct numalab_random *random)
{
    double now_ns = draw_between(random, 1e12, 1e15);
    size_t in_row = 0, since = kind->apart;
    bool follows_stop = false;
    clock->stops = clock->stolen_ns = 0;
    for (size_t i = 0; i < clock->n; i++) {
        clock->reading[i] = (int64_t)(now_ns / kind->tick_ns) * (int64_t)kind->tick_ns;
        const bool may_stop =
            (kind->starts_stopped || i >= QUIET_ENDS) && i + QUIET_ENDS < clock->n;
        now_ns += kind->cost_ns * draw_between(random, 1.0, 1.0 + kind->jitter);
        since++;
        const bool is_first = kind->starts_stopped && i == 0;
        if (in_row == 0 && may_stop && since > kind->apart &&
            (is_first || is_drawn(random, kind->stop)))
            in_row = kind->row_length;
        if (in_row > 0 && may_stop) {
            const double length_ns =
                floor(kind->least_ns * draw_between(random, stop_least, kind->most));
            now_ns += length_ns;
            if (!(follows_stop && merge_stop_rows)) clock->stops++;
            follows_stop = true;
            clock->stolen_ns += (int64_t)length_ns;
            in_row--;
            since = 0;
            continue;
        }
        follows_stop = false;
        if (is_drawn(random, kind->too_short))
            now_ns += kind->least_ns * draw_between(random, too_short_least, too_short_most);
    }
    /* It ends among the last readings, where there is no stop. */
    clock->request[WATCH_NS] = clock->reading[clock->n - QUIET_ENDS / 2] - clock->reading[0];
    clock->request[LEAST_NS] = (int64_t)kind->least_ns;
    return clock->n;
}

/* No two clocks of a kind are alike: else how many stops are drawn on average, and what they take,
 * would be known by the kind, which anybody can tell by what is asked. */
static struct clock_kind varied(const struct clock_kind *kind, struct numalab_random *random)
{
    struct clock_kind clock = *kind;
    const double pace = draw_between(random, 0.8, 1.25);
    clock.cost_ns *= pace;
    clock.least_ns = floor(pace * clock.least_ns);
    clock.stop *= draw_between(random, 0.5, 1.1);
    clock.most *= draw_between(random, 0.8, 1.0);
    clock.too_short *= draw_between(random, 0.5, 1.5);
    return clock;
}

static size_t noise_draw(struct numalab_oracle *oracle, size_t kind, uint64_t seed)
{
    struct numalab_random random = {.seed = seed};
    const struct clock_kind clock = varied(&clock_kinds[kind], &random);
    return draw_clock(&oracle->clock, &clock, &random);
}

static void noise_truth(const struct numalab_oracle *oracle, int64_t truth[NUMALAB_MAX_ANSWERS])
{
    truth[0] = oracle->clock.stops;
    truth[1] = oracle->clock.stolen_ns;
}

/* Where results are checked, a clock that leaves nothing open: all its readings take the same, and
 * what is a stop is many times as long. */
static void noise_renew(struct numalab_oracle *oracle, uint64_t seed)
{
    static const struct clock_kind clear = {.cost_ns = 100,
                                            .tick_ns = 1,
                                            .least_ns = 2000,
                                            .stop = 0.02,
                                            .most = 9,
                                            .row_length = 1,
                                            .apart = 8};
    struct numalab_random random = {.seed = seed};
    draw_clock(&oracle->clock, &clear, &random);
}

static const void *noise_renewed(const struct numalab_oracle *oracle, size_t array)
{
    return array == READINGS  ? (const void *)oracle->clock.reading
           : array == REQUEST ? (const void *)oracle->clock.request
                              : NULL;
}

static bool is_near(int64_t actual, int64_t expected)
{
    return fabs((double)actual - (double)expected) <= tolerance * (double)expected;
}

static int64_t noise_expected(const struct clock *clock, size_t array, size_t element)
{
    switch (array) {
    case READINGS:
        return clock->reading[element];
    case REQUEST:
        return clock->request[element];
    case STOPS:
        return clock->has_run ? clock->stops : initial_answer;
    default:
        return clock->has_run ? clock->stolen_ns : initial_answer;
    }
}

static size_t noise_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                            size_t count, const void *actual_pointer,
                            struct numalab_mismatch *mismatch)
{
    const int64_t *actual = actual_pointer;
    const struct clock *clock = &oracle->clock;
    const bool is_answer = clock->has_run && (array == STOPS || array == STEAL);
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++) {
        const int64_t expected = noise_expected(clock, array, first + i);
        if (is_answer ? is_near(actual[i], expected) : actual[i] == expected) continue;
        if (mismatches++ == 0)
            *mismatch = numalab_make_signed_mismatch(array, first + i, expected, actual[i]);
    }
    return mismatches;
}

static void noise_remark(const struct numalab_oracle *oracle,
                         const struct numalab_mismatch *mismatch, size_t first, size_t count,
                         const void *actual, char remark[NUMALAB_REMARK_BYTES])
{
    const struct clock *clock = &oracle->clock;
    (void)first;
    (void)count;
    (void)actual;
    if (mismatch->array != STOPS && mismatch->array != STEAL) return;
    if (mismatch->actual == (double)initial_answer)
        snprintf(remark, NUMALAB_REMARK_BYTES, "noise has written nothing there.");
    else
        snprintf(
            remark, NUMALAB_REMARK_BYTES,
            "Each of %zu readings took 100 ns; stops among them: %lld. A tenth more or less is "
            "let pass.",
            clock->n, (long long)clock->stops);
}

/* ---- decide: pairs of times ------------------------------------------------------------- */

static struct numalab_oracle *decide_create(size_t n)
{
    struct numalab_oracle *oracle = calloc(1, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->pairs.n = n;
    for (size_t i = 0; i < 2; i++) {
        oracle->pairs.time_s[i] = calloc(n, sizeof(double));
        if (!oracle->pairs.time_s[i]) {
            destroy(oracle);
            return NULL;
        }
    }
    return oracle;
}

static void decide_advance(struct numalab_oracle *oracle, const char *phase)
{
    struct pairs *pairs = &oracle->pairs;
    pairs->has_run = strcmp(phase, "set_times") != 0;
    if (pairs->has_run) return;
    for (size_t i = 0; i < pairs->n; i++)
        pairs->time_s[A][i] = pairs->time_s[B][i] = initial_time_s(i);
    pairs->length = (int64_t)pairs->n;
    pairs->verdict = 0;
}

/* What a series of n pairs is made of: time[k][i] of the faster program and, k = 1, the other. */
struct made {
    size_t n;
    size_t faster; /* A or B */
    double time[2][MOST_PAIRS];
    bool is_decidable; /* the times tell */
};

/* By what one program takes longer than the other, if without not_worth it were factor, 1 where
 * there is nothing to tell. */
static double drawn_apart(double factor, size_t faster, struct numalab_random *random)
{
    const double most = 1.0 + not_worth[1 - faster];
    if (factor != 1.0) return most * factor;
    return most > 1.0 ? draw_between(random, 1.0, most) : 1.0;
}

/* The two programs' own times, with noise of each: 1, and what they are apart. */
static void begin(struct made *made, size_t n, double factor, double spread,
                  struct numalab_random *random)
{
    made->n = n;
    made->is_decidable = factor != 1.0;
    const double apart = drawn_apart(factor, made->faster, random);
    for (size_t i = 0; i < n; i++) {
        made->time[0][i] = exp(spread * normal(random));
        made->time[1][i] = apart * exp(spread * normal(random));
    }
}

/* 1, or between least and most, either half of the time. */
static double factor_of(struct numalab_random *random, double least, double most)
{
    return is_drawn(random, 0.5) ? 1.0 : draw_between(random, least, most);
}

static void scale(struct made *made, size_t which, size_t i, double factor)
{
    if (i < made->n) made->time[which][i] *= factor;
}

static void equal_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 15, 50), 1.0, draw_between(random, 0.02, 0.10), random);
}

static void noisy_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 10, 30), 1.0, draw_between(random, 0.20, 0.40), random);
}

static void faster_kind(struct made *made, struct numalab_random *random)
{
    const double spread = draw_between(random, 0.01, 0.10);
    const double least = 1.05 > 1.0 + 1.8 * spread ? 1.05 : 1.0 + 1.8 * spread;
    begin(made, draw_whole_between(random, 30, 60), draw_between(random, least, 1.3), spread,
          random);
}

static void few_kind(struct made *made, struct numalab_random *random)
{
    const bool is_equal = is_drawn(random, 0.7);
    if (is_equal)
        begin(made, draw_whole_between(random, LEAST_PAIRS, 8), 1.0,
              draw_between(random, 0.10, 0.20), random);
    else
        begin(made, draw_whole_between(random, 8, 10), draw_between(random, 1.2, 1.3),
              draw_between(random, 0.01, 0.03), random);
}

/* Both slow down, or get faster, over the series: the frequency falls, or a node empties. */
static void drift_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 30, 60), factor_of(random, 1.07, 1.15),
          draw_between(random, 0.01, 0.03), random);
    const double most = draw_between(random, 2.0, 4.0);
    const bool is_up = is_drawn(random, 0.5);
    for (size_t i = 0; i < made->n; i++) {
        const double share = (double)(is_up ? i : made->n - 1 - i) / (double)(made->n - 1);
        for (size_t which = 0; which < 2; which++) scale(made, which, i, pow(most, share));
    }
}

/* Rows of pairs in which something else ran, which meets both. */
static void both_hit_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 30, 60), factor_of(random, 1.08, 1.2),
          draw_between(random, 0.01, 0.03), random);
    for (size_t rows = draw_whole_between(random, 2, 4); rows > 0; rows--) {
        const double factor = draw_between(random, 2.0, 6.0);
        const size_t first = draw_whole_between(random, 0, made->n - 1);
        for (size_t i = first; i < first + 6; i++)
            for (size_t which = 0; which < 2; which++)
                scale(made, which, i, factor * exp(0.1 * normal(random)));
    }
}

/* Some times of the faster program, or of one of two that are equal, are disturbed. */
static void single_hit_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 30, 60), factor_of(random, 1.12, 1.3),
          draw_between(random, 0.01, 0.03), random);
    for (size_t i = 0; i < made->n; i++)
        if (is_drawn(random, 0.12)) scale(made, 0, i, draw_between(random, 2.0, 8.0));
}

/* Some times of the slower program, or of one of two that are equal, are short by chance: the core
 * ran at a higher frequency, or a page was where it had been. */
static void lucky_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 30, 60), factor_of(random, 1.1, 1.2),
          draw_between(random, 0.01, 0.03), random);
    for (size_t lucky = draw_whole_between(random, 1, 3); lucky > 0; lucky--)
        scale(made, 1, draw_whole_between(random, 0, made->n - 1), draw_between(random, 0.6, 0.75));
}

/* In ticks, some of which a time has; a coarse clock shows as many, or one more or less. */
static void coarse_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 40, 60), factor_of(random, 1.2, 1.3), 0.02, random);
    const double ticks = draw_between(random, 5.0, 10.0);
    for (size_t i = 0; i < made->n; i++)
        for (size_t which = 0; which < 2; which++)
            made->time[which][i] = floor(ticks * made->time[which][i] + fraction(random)) / ticks;
}

/* Each time is in one of two modes, whichever, such as two places of a page in a cache. */
static void two_modes_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 50, 60), factor_of(random, 1.12, 1.25),
          draw_between(random, 0.01, 0.02), random);
    const double slow = draw_between(random, 1.4, 2.0);
    for (size_t i = 0; i < made->n; i++)
        for (size_t which = 0; which < 2; which++)
            if (is_drawn(random, 0.25)) scale(made, which, i, slow);
}

/* Now and then a time is far off, in either direction: the ratio of two normal numbers (Cauchy's
 * distribution), which has no mean, within a factor of most_off. */
static const double most_off = 20.0;

static void far_off_kind(struct made *made, struct numalab_random *random)
{
    begin(made, draw_whole_between(random, 40, 60), factor_of(random, 1.12, 1.3), 0.0, random);
    const double spread = draw_between(random, 0.01, 0.03);
    for (size_t i = 0; i < made->n; i++)
        for (size_t which = 0; which < 2; which++) {
            const double off = exp(spread * normal(random) / fabs(normal(random)));
            scale(made, which, i, fmin(fmax(off, 1.0 / most_off), most_off));
        }
}

static void (*const pair_kinds[])(struct made *, struct numalab_random *) = {
    equal_kind,      noisy_kind, faster_kind, few_kind,       drift_kind,  both_hit_kind,
    single_hit_kind, lucky_kind, coarse_kind, two_modes_kind, far_off_kind};

static const char *const pair_kind_names[] = {apart_in_nothing,        apart_in_noise,
                                              "one is faster",         "few pairs",
                                              "drift of both",         "both disturbed at once",
                                              "one of them disturbed", "lucky times",
                                              "coarse clock",          "two modes",
                                              "some times far off",    NULL};
_Static_assert(sizeof pair_kinds / sizeof pair_kinds[0] + 1 ==
                   sizeof pair_kind_names / sizeof pair_kind_names[0],
               "each kind has a name");

/* In seconds, of whatever size. What lies behind the series is no number, for who reads on. */
static void take(struct pairs *pairs, const struct made *made, struct numalab_random *random)
{
    const double unit_s = pow(10.0, draw_between(random, -6.0, 1.0));
    const size_t faster = made->faster;
    for (size_t i = 0; i < pairs->n; i++)
        for (size_t which = 0; which < 2; which++)
            pairs->time_s[which == 0 ? faster : 1 - faster][i] =
                i < made->n ? unit_s * made->time[which][i] : NAN;
    pairs->length = (int64_t)made->n;
    pairs->verdict = !made->is_decidable ? 0 : faster == A ? -1 : 1;
}

static size_t decide_draw(struct numalab_oracle *oracle, size_t kind, uint64_t seed)
{
    struct made made;
    struct numalab_random random = {.seed = seed};
    made.faster = (size_t)(numalab_random_next(&random) % 2);
    pair_kinds[kind](&made, &random);
    take(&oracle->pairs, &made, &random);
    return made.n;
}

static void decide_truth(const struct numalab_oracle *oracle, int64_t truth[NUMALAB_MAX_ANSWERS])
{
    truth[0] = oracle->pairs.verdict;
}

/* Where results are checked, times that leave nothing open: both the same, or, of LEAST_CLEAR pairs
 * or more, one each time twice as long as is not worth a word. */
enum { LEAST_CLEAR = 12 };

static void decide_renew(struct numalab_oracle *oracle, uint64_t seed)
{
    struct pairs *pairs = &oracle->pairs;
    struct numalab_random random = {.seed = seed};
    pairs->verdict = pairs->n < LEAST_CLEAR ? 0 : (int64_t)(numalab_random_next(&random) % 3) - 1;
    pairs->length = (int64_t)pairs->n;
    for (size_t i = 0; i < pairs->n; i++) {
        const double time_s = draw_between(&random, 0.01, 0.011);
        pairs->time_s[A][i] = pairs->verdict == 1 ? 2 * (1 + not_worth[A]) * time_s : time_s;
        pairs->time_s[B][i] = pairs->verdict == -1 ? 2 * (1 + not_worth[B]) * time_s : time_s;
    }
}

static const void *decide_renewed(const struct numalab_oracle *oracle, size_t array)
{
    const struct pairs *pairs = &oracle->pairs;
    return array == VERDICT  ? NULL
           : array == LENGTH ? (const void *)&pairs->length
                             : (const void *)pairs->time_s[array];
}

static size_t decide_compare(const struct numalab_oracle *oracle, size_t array, size_t first,
                             size_t count, const void *actual, struct numalab_mismatch *mismatch)
{
    const struct pairs *pairs = &oracle->pairs;
    size_t mismatches = 0;
    for (size_t i = 0; i < count; i++) {
        double expected, value;
        if (array == A || array == B) {
            expected = pairs->time_s[array][first + i];
            value = ((const double *)actual)[i];
        } else {
            const int64_t verdict = pairs->has_run ? pairs->verdict : initial_answer;
            expected = (double)(array == LENGTH ? pairs->length : verdict);
            value = (double)((const int64_t *)actual)[i];
        }
        if (!(value == expected) && mismatches++ == 0) /* Negated, so that NaN is wrong. */
            *mismatch = (struct numalab_mismatch){array, first + i, expected, value, "", ""};
    }
    return mismatches;
}

static void decide_remark(const struct numalab_oracle *oracle,
                          const struct numalab_mismatch *mismatch, size_t first, size_t count,
                          const void *actual, char remark[NUMALAB_REMARK_BYTES])
{
    const struct pairs *pairs = &oracle->pairs;
    (void)first;
    (void)count;
    (void)actual;
    if (mismatch->array != VERDICT) return;
    snprintf(remark, NUMALAB_REMARK_BYTES, "In each of %lld pairs %s.", (long long)pairs->length,
             pairs->verdict == 0   ? "both times were the same"
             : pairs->verdict == 1 ? "A took twice as long as B"
                                   : "B took twice as long as A");
}

/* ---- the parts ----------------------------------------------------------------------- */

static const struct numalab_series noise_series = {
    .kinds = clock_kind_names,
    .series_per_kind = 4,
    .n = 7000,
    .first_answer = STOPS,
    .answer_count = 2,
    .draw = noise_draw,
    .truth = noise_truth,
};

static const struct numalab_stop_detection stop_detection = {
    .request = REQUEST,
    .stops = STOPS,
    .steal = STEAL,
    .live_phase = "noise_live",
};

static const struct numalab_series decide_series = {
    .kinds = pair_kind_names,
    .series_per_kind = 20,
    .n = MOST_PAIRS,
    .first_answer = VERDICT,
    .answer_count = 1,
    .draw = decide_draw,
    .truth = decide_truth,
};

static const size_t noise_check_n[] = {100, 1000, 20011, SIZE_MAX};
static const size_t decide_check_n[] = {LEAST_PAIRS, 6, 12, 1000, SIZE_MAX};

static const struct numalab_driver noise_driver = {
    .lab = "08_quiet_node",
    .part = "noise",
    .arrays = noise_arrays,
    .array_count = sizeof noise_arrays / sizeof noise_arrays[0],
    .count = noise_count,
    .initialize_phase = "set_clock",
    .compute_phase = "noise",
    .check_n = noise_check_n,
    .series = &noise_series,
    .stop_detection = &stop_detection,
    .n_unit = "readings",
    .bytes_moved = bytes_moved,
    .create = noise_create,
    .destroy = destroy,
    .advance = noise_advance,
    .renew = noise_renew,
    .renewed = noise_renewed,
    .compare = noise_compare,
    .remark = noise_remark,
};

static const struct numalab_driver decide_driver = {
    .lab = "08_quiet_node",
    .part = "decide",
    .arrays = decide_arrays,
    .array_count = sizeof decide_arrays / sizeof decide_arrays[0],
    .count = decide_count,
    .initialize_phase = "set_times",
    .compute_phase = "decide",
    .check_n = decide_check_n,
    .series = &decide_series,
    .n_unit = "pairs",
    .bytes_moved = bytes_moved,
    .create = decide_create,
    .destroy = destroy,
    .advance = decide_advance,
    .renew = decide_renew,
    .renewed = decide_renewed,
    .compare = decide_compare,
    .remark = decide_remark,
};

const struct numalab_driver *const numalab_drivers[] = {&noise_driver, &decide_driver, NULL};
