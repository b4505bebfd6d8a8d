/* Lab 06: the buffers of the two ranks, and what they should hold.
 *
 * Nothing is sent here: after r round trips rank 1 has what rank 0 had before, its first
 * word grown by 2 r - 1, and rank 0 the same grown by 2 r (pattern.h). The oracle keeps all
 * buffers whole, and every byte is compared. What is changed in rank 1 lasts until the next
 * call only, as it should: a kernel in which it lasts has not received. */
#include "numalab/driver.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"

/* The whole oracle is an array of these, one for each rank, which is its view. */
struct numalab_oracle {
    size_t n;
    size_t rank;
    size_t ranks;
    size_t round_trips;    /* of one call */
    unsigned char *buffer; /* what this rank's should hold */
};

static const struct numalab_array arrays[] = {{"buffer", 1}};

/* Empty, around the size of a word, odd, and beyond any limit below which a library sends
 * without asking. */
static const size_t check_n[] = {0, 1, 7, 8, 9, 1000, 4099, 65537, 4194304, SIZE_MAX};

/* Messages pass through caches: their bandwidth is the latency run's. */
static size_t bytes_moved(size_t n)
{
    (void)n;
    return 0;
}

static void destroy(struct numalab_oracle *oracle)
{
    for (size_t rank = 0; rank < oracle->ranks; rank++) free(oracle[rank].buffer);
    free(oracle);
}

static struct numalab_oracle *create_ranks(size_t n, size_t ranks, bool is_brief)
{
    struct numalab_oracle *oracle = calloc(ranks, sizeof *oracle);
    if (!oracle) return NULL;
    oracle->ranks = ranks;
    for (size_t rank = 0; rank < ranks; rank++) {
        unsigned char *buffer = calloc(n ? n : 1, 1);
        oracle[rank] = (struct numalab_oracle){n, rank, ranks, repetitions_of(n, is_brief), buffer};
        if (!buffer) {
            destroy(oracle);
            return NULL;
        }
    }
    return oracle;
}

static struct numalab_oracle *select_rank(struct numalab_oracle *oracle, size_t rank)
{
    return oracle + rank;
}

static void grow_first_word(struct numalab_oracle *view, size_t increment)
{
    int64_t word;
    if (view->n < sizeof word) return;
    memcpy(&word, view->buffer, sizeof word);
    word += (int64_t)increment;
    memcpy(view->buffer, &word, sizeof word);
}

#include "pattern.h"

static const size_t rank_counts[] = {RANKS, 0};

static void advance(struct numalab_oracle *oracle, const char *phase)
{
    if (strcmp(phase, "initialize") == 0) {
        for (size_t rank = 0; rank < oracle->ranks; rank++)
            fill_buffer(oracle[rank].buffer, oracle->n, rank);
    } else if (strcmp(phase, CALL_PHASE) == 0 && oracle->ranks > 1) {
        pass_messages(oracle);
    }
}

/* Any byte, and always to another value; n must not be 0. */
static int change(struct numalab_oracle *view, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change)
{
    unsigned char *byte = &view->buffer[random_position % view->n];
    *byte = (unsigned char)((*byte + 1 + random_value % (BYTE_VALUES - 1)) % BYTE_VALUES);
    change->array = 0;
    change->element = (size_t)(random_position % view->n);
    change->value[0] = *byte;
    return 0;
}

static size_t compare(const struct numalab_oracle *view, size_t array, size_t first, size_t count,
                      const void *actual_pointer, struct numalab_mismatch *mismatch)
{
    const unsigned char *actual = actual_pointer;
    const unsigned char *expected = view->buffer + first;
    size_t mismatches = 0;
    if (count == 0 || memcmp(actual, expected, count) == 0) return 0;
    for (size_t i = 0; i < count; i++)
        if (actual[i] != expected[i] && mismatches++ == 0)
            *mismatch = (struct numalab_mismatch){array, first + i, expected[i], actual[i], "", ""};
    return mismatches;
}

/* A first word that is off by no more than all additions of a call: some are missing, or
 * too many. */
static void remark(const struct numalab_oracle *view, const struct numalab_mismatch *mismatch,
                   size_t first, size_t count, const void *actual_pointer,
                   char text[NUMALAB_REMARK_BYTES])
{
    int64_t expected, actual;
    if (first > 0 || count < sizeof actual || mismatch->element >= sizeof actual) return;
    memcpy(&expected, view->buffer, sizeof expected);
    memcpy(&actual, actual_pointer, sizeof actual);
    const int64_t most = (int64_t)(MOST_ADDED * view->round_trips);
    const int64_t lack = (int64_t)((uint64_t)expected - (uint64_t)actual);
    if (lack == 0 || lack < -most || lack > most) return;
    snprintf(text, NUMALAB_REMARK_BYTES,
             "The first word is %" PRId64 " too %s after %zu round trips: who adds " ADDED_TO_WORD
             ", and when?",
             lack > 0 ? lack : -lack, lack > 0 ? "small" : "large", view->round_trips);
}

/* Timed with one word, where nothing but latency counts. */
#define DRIVER_OF_PART(name)                                                                       \
    {                                                                                              \
        .lab = "06_message_latency",                                                               \
        .part = name,                                                                              \
        .arrays = arrays,                                                                          \
        .array_count = sizeof arrays / sizeof arrays[0],                                           \
        .initialize_phase = "initialize",                                                          \
        .compute_phase = CALL_PHASE,                                                               \
        .start_phase = "start",                                                                    \
        .rank_counts = rank_counts,                                                                \
        .timed_n = {8, 8, 8},                                                                      \
        .evidence_n = 8,                                                                           \
        .check_n = check_n,                                                                        \
        .n_unit = "bytes",                                                                         \
        .repetitions = repetitions_of,                                                             \
        .bytes_moved = bytes_moved,                                                                \
        .create_ranks = create_ranks,                                                              \
        .select_rank = select_rank,                                                                \
        .destroy = destroy,                                                                        \
        .advance = advance,                                                                        \
        .change = change,                                                                          \
        .compare = compare,                                                                        \
        .remark = remark,                                                                          \
    }

/* The student's kernel, and the kit's, which runs as the launch files say. */
static const struct numalab_driver ping_pong = DRIVER_OF_PART(KERNEL_PART);
static const struct numalab_driver placement = DRIVER_OF_PART("placement");

const struct numalab_driver *const numalab_drivers[] = {&ping_pong, &placement, NULL};
