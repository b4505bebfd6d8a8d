#define _GNU_SOURCE
#include "mixes.h"

#include <errno.h>
#include <math.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "numbers.h"

enum { EXIT_MISMATCH = 1, EXIT_MISUSE = 2, EXIT_MEMORY = 3 };
enum { LEAST_ARRAYS = 8, MOST_ARRAYS = 1024, MOST_LOADS = 4, MOST_STORES = 2, MOST_UPDATES = 2 };
enum { MOST_LOOPS = 16, MOST_THREADS = 1024 };

/* What a loop goes over. */
struct window {
    const double *read[MOST_LOADS];
    double *written[MOST_STORES], *updated[MOST_UPDATES];
};

/* ---- the loops ---------------------------------------------------------------------- */

/* What all loops do in an element. The numbers of arrays are constants where it is called. All
 * factors are powers of two, so the order of operations is all that a result depends on, and it
 * stays below s. simd: no array is another one; the sum may be added up in any order, else each
 * addition would wait for the one before it, and that would be timed. */
static inline __attribute__((always_inline)) double go_over(int loads, int stores, int updates,
                                                            const struct window *window,
                                                            size_t first, size_t end, double s)
{
    const double *const r0 = window->read[0], *const r1 = window->read[1];
    const double *const r2 = window->read[2], *const r3 = window->read[3];
    double *const w0 = window->written[0], *const w1 = window->written[1];
    double *const u0 = window->updated[0], *const u1 = window->updated[1];
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = first; i < end; i++) {
        double value = s;
        if (loads > 0) value += r0[i];
        if (loads > 1) value += r1[i];
        if (loads > 2) value += r2[i];
        if (loads > 3) value += r3[i];
        value *= 0.125;
        if (stores > 0) w0[i] = value;
        if (stores > 1) w1[i] = value;
        if (updates > 0) u0[i] = 0.5 * (u0[i] + value);
        if (updates > 1) u1[i] = 0.5 * (u1[i] + value);
        if (stores + updates == 0) sum += value;
    }
    return sum;
}

typedef double mixed_loop(const struct window *window, size_t first, size_t end, double s);

#define MIX(loads, stores, updates)                                                                \
    static double mix_##loads##_##stores##_##updates(const struct window *window, size_t first,    \
                                                     size_t end, double s)                         \
    {                                                                                              \
        return go_over(loads, stores, updates, window, first, end, s);                             \
    }

MIX(1, 0, 0)
MIX(2, 0, 0)
MIX(3, 0, 0)
MIX(4, 0, 0)
MIX(0, 1, 0)
MIX(0, 2, 0)
MIX(1, 1, 0)
MIX(2, 1, 0)
MIX(3, 1, 0)
MIX(4, 1, 0)
MIX(1, 2, 0)
MIX(0, 0, 1)
MIX(0, 0, 2)
MIX(1, 0, 1)
MIX(2, 0, 1)
MIX(3, 0, 1)
MIX(1, 0, 2)
MIX(0, 1, 1)
MIX(1, 1, 1)

static const struct mix {
    int loads, stores, updates;
    mixed_loop *run;
} mixes[] = {
    {1, 0, 0, mix_1_0_0}, {2, 0, 0, mix_2_0_0}, {3, 0, 0, mix_3_0_0}, {4, 0, 0, mix_4_0_0},
    {0, 1, 0, mix_0_1_0}, {0, 2, 0, mix_0_2_0}, {1, 1, 0, mix_1_1_0}, {2, 1, 0, mix_2_1_0},
    {3, 1, 0, mix_3_1_0}, {4, 1, 0, mix_4_1_0}, {1, 2, 0, mix_1_2_0}, {0, 0, 1, mix_0_0_1},
    {0, 0, 2, mix_0_0_2}, {1, 0, 1, mix_1_0_1}, {2, 0, 1, mix_2_0_1}, {3, 0, 1, mix_3_0_1},
    {1, 0, 2, mix_1_0_2}, {0, 1, 1, mix_0_1_1}, {1, 1, 1, mix_1_1_1},
};
enum { MIXES = sizeof mixes / sizeof *mixes, NAME_LENGTH = 5 };

/* ---- what is asked for -------------------------------------------------------------- */

struct request {
    const struct mix *loops[MOST_LOOPS];
    size_t loop_count, bytes, arrays, repetitions;
};

static const struct mix *find(int loads, int stores, int updates)
{
    for (size_t i = 0; i < MIXES; i++)
        if (mixes[i].loads == loads && mixes[i].stores == stores && mixes[i].updates == updates)
            return &mixes[i];
    return NULL;
}

/* Whether a text begins as a mix is named, such as 2+1+0. */
static bool is_named(const char *text)
{
    for (int i = 0; i < NAME_LENGTH; i++)
        if (i % 2 ? text[i] != '+' : text[i] < '0' || text[i] > '9') return false;
    return true;
}

/* Mixes with commas between them. 0 or -EINVAL. */
static int read_loops(const char *text, struct request *request)
{
    request->loop_count = 0;
    while (true) {
        const struct mix *const mix =
            is_named(text) ? find(text[0] - '0', text[2] - '0', text[4] - '0') : NULL;
        if (!mix || request->loop_count == MOST_LOOPS) return -EINVAL;
        request->loops[request->loop_count++] = mix;
        text += NAME_LENGTH;
        if (!*text) return 0;
        if (*text++ != ',') return -EINVAL;
    }
}

static int read_words(int words, char **word, struct request *request)
{
    for (int i = 0; i < words; i++) {
        int error = -EINVAL;
        if (!strncmp(word[i], "loops=", 6))
            error = read_loops(word[i] + 6, request);
        else if (!strncmp(word[i], "bytes=", 6))
            error = numalab_read_whole(word[i] + 6, sizeof(double), SIZE_MAX / 64, &request->bytes);
        else if (!strncmp(word[i], "repetitions=", 12))
            error =
                numalab_read_whole(word[i] + 12, 1, PROBE_MOST_REPETITIONS, &request->repetitions);
        else if (!strncmp(word[i], "arrays=", 7))
            error = numalab_read_whole(word[i] + 7, LEAST_ARRAYS, MOST_ARRAYS, &request->arrays);
        if (error) return error;
    }
    return request->loop_count && request->bytes ? 0 : -EINVAL;
}

/* ---- the pool ----------------------------------------------------------------------- */

/* All elements of an array have one value. */
struct pool {
    struct probe_memory memory[MOST_ARRAYS];
    double value[MOST_ARRAYS];
    size_t arrays, count, next; /* count: elements of each */
};

/* The share that schedule(static) gives a thread of what a team goes over. */
static void own_share(size_t count, size_t *first, size_t *end)
{
    const size_t team = (size_t)omp_get_num_threads(), thread = (size_t)omp_get_thread_num();
    const size_t rest = count % team;
    *first = count / team * thread + (thread < rest ? thread : rest);
    *end = *first + count / team + (thread < rest);
}

/* Each thread writes first what it will use. */
static void touch(struct pool *pool)
{
    for (size_t i = 0; i < pool->arrays; i++) pool->value[i] = (double)(i + 1);
#pragma omp parallel
    {
        size_t first, end;
        own_share(pool->count, &first, &end);
        for (size_t i = 0; i < pool->arrays; i++) {
            double *const elements = pool->memory[i].start;
            for (size_t j = first; j < end; j++) elements[j] = pool->value[i];
        }
    }
}

/* Hands out the next arrays, and works out what the loop will leave in them. Returns what one
 * element adds to its sum. */
static double prepare(struct pool *pool, const struct mix *mix, double s, struct window *window)
{
    double value = s;
    for (int i = 0; i < mix->loads; i++, pool->next++) {
        window->read[i] = pool->memory[pool->next % pool->arrays].start;
        value += pool->value[pool->next % pool->arrays];
    }
    value *= 0.125;
    for (int i = 0; i < mix->stores; i++, pool->next++) {
        window->written[i] = pool->memory[pool->next % pool->arrays].start;
        pool->value[pool->next % pool->arrays] = value;
    }
    for (int i = 0; i < mix->updates; i++, pool->next++) {
        double *const old = &pool->value[pool->next % pool->arrays];
        window->updated[i] = pool->memory[pool->next % pool->arrays].start;
        *old = 0.5 * (*old + value);
    }
    return mix->stores + mix->updates ? 0 : value;
}

/* Each element's last bit counts: nothing was left out, in none of the repetitions, since each
 * changes what it works on. */
static bool is_pool_valid(const struct pool *pool)
{
    size_t wrong = 0;
#pragma omp parallel reduction(+ : wrong)
    {
        size_t first, end;
        own_share(pool->count, &first, &end);
        for (size_t i = 0; i < pool->arrays; i++) {
            const double *const elements = pool->memory[i].start;
            for (size_t j = first; j < end; j++) wrong += !(elements[j] == pool->value[i]);
        }
    }
    if (wrong) fprintf(stderr, "the loops are wrong: %zu elements have other values\n", wrong);
    return !wrong;
}

/* ---- running them ------------------------------------------------------------------- */

struct record {
    double elapsed_s[MOST_LOOPS][PROBE_MOST_REPETITIONS];
    int threads, pus[MOST_THREADS];
};

static double run_once(const struct mix *mix, const struct window *window, size_t count, double s,
                       double *elapsed_s)
{
    double sum = 0;
    const double start_s = probe_now_s();
#pragma omp parallel reduction(+ : sum)
    {
        size_t first, end;
        own_share(count, &first, &end);
        sum += mix->run(window, first, end, s);
    }
    *elapsed_s = probe_now_s() - start_s;
    return sum;
}

static void observe_team(struct record *record)
{
    int threads = 0;
#pragma omp parallel reduction(+ : threads)
    {
        const int thread = omp_get_thread_num();
        if (thread < MOST_THREADS) record->pus[thread] = sched_getcpu();
        threads = 1;
    }
    record->threads = threads;
}

/* Repetition number 0 warms up. The loops' order moves on by one from each repetition to the next.
 * 0, or -EBADMSG, which is told. */
static int repeat_all(const struct request *request, struct pool *pool, struct record *record)
{
    const size_t loops = request->loop_count;
    for (size_t repetition = 0; repetition <= request->repetitions; repetition++)
        for (size_t k = 0; k < loops; k++) {
            const size_t loop = (k + repetition) % loops;
            struct window window = {0};
            const double s = (double)(repetition + 1);
            const double each = prepare(pool, request->loops[loop], s, &window);
            double elapsed_s;
            const double sum = run_once(request->loops[loop], &window, pool->count, s, &elapsed_s);
            const double expected = each * (double)pool->count;
            if (!(fabs(sum - expected) <= 1e-9 * expected)) {
                fprintf(stderr, "a loop is wrong: its sum is %.17g, not %.17g\n", sum, expected);
                return -EBADMSG;
            }
            if (repetition > 0) record->elapsed_s[loop][repetition - 1] = elapsed_s;
        }
    observe_team(record);
    return is_pool_valid(pool) ? 0 : -EBADMSG;
}

static void print_record(const struct request *request, const struct record *record,
                         size_t huge_bytes)
{
    printf("{\"array_bytes\": %zu, \"arrays\": %zu, \"bytes_on_huge_pages\": %zu, \"threads\": %d, "
           "\"thread_pus\": [",
           request->bytes, request->arrays, huge_bytes, record->threads);
    for (int i = 0; i < record->threads && i < MOST_THREADS; i++)
        printf("%s%d", i ? ", " : "", record->pus[i]);
    printf("], \"loops\": [");
    for (size_t k = 0; k < request->loop_count; k++) {
        const struct mix *const mix = request->loops[k];
        printf("%s{\"loads\": %d, \"stores\": %d, \"updates\": %d, \"elapsed_s\": [", k ? ", " : "",
               mix->loads, mix->stores, mix->updates);
        for (size_t i = 0; i < request->repetitions; i++)
            printf("%s%.9f", i ? ", " : "", record->elapsed_s[k][i]);
        printf("]}");
    }
    printf("]}\n");
}

static int measure(const struct request *request)
{
    static struct record record;
    static struct pool pool;
    pool.arrays = request->arrays;
    pool.count = request->bytes / sizeof(double);
    size_t huge_bytes = 0;
    int error = 0;
    for (size_t i = 0; i < pool.arrays && !error; i++)
        error = probe_memory_map(&pool.memory[i], request->bytes, false);
    if (!error) {
        touch(&pool);
        error = repeat_all(request, &pool, &record);
    }
    for (size_t i = 0; i < pool.arrays && !error; i++) {
        size_t bytes = 0;
        error = probe_memory_on_huge_pages(&pool.memory[i], &bytes);
        huge_bytes += bytes;
    }
    for (size_t i = 0; i < pool.arrays; i++) probe_memory_unmap(&pool.memory[i]);
    if (error == -EBADMSG) return EXIT_MISMATCH;
    if (error) {
        fprintf(stderr, "the arrays: %s\n", strerror(-error));
        return EXIT_MEMORY;
    }
    print_record(request, &record, huge_bytes);
    return EXIT_SUCCESS;
}

static int misuse(void)
{
    fprintf(
        stderr,
        "usage: probe mixes loops=LOADS+STORES+UPDATES[,...] bytes=BYTES [arrays=N]\n"
        "       [repetitions=N]   (bytes: of each array; arrays: %d to %d; repetitions: at most\n"
        "       %d; at most %d loops). Mixes:",
        LEAST_ARRAYS, MOST_ARRAYS, PROBE_MOST_REPETITIONS, MOST_LOOPS);
    for (size_t i = 0; i < MIXES; i++)
        fprintf(stderr, " %d+%d+%d", mixes[i].loads, mixes[i].stores, mixes[i].updates);
    fprintf(stderr, "\n");
    return EXIT_MISUSE;
}

int probe_mixes(int words, char **word)
{
    struct request request = {.arrays = LEAST_ARRAYS, .repetitions = 5};
    if (read_words(words, word, &request)) return misuse();
    return measure(&request);
}
