/* Lab 06, a variant: who sends what to whom in a call of the kernel, as driver.c's oracle does it.
 * Included behind the oracle and grow_first_word. */
#ifndef MESSAGE_LATENCY_PATTERN_H
#define MESSAGE_LATENCY_PATTERN_H

#define CALL_PHASE "relay"
#define KERNEL_PART "relay"
#define ADDED_TO_WORD "@added@" /* by who receives a message */

enum { RANKS = @ranks@, ADDED = @added@, MOST_ADDED = ADDED * @pattern.most@ };

/* All ranks give their buffers away at once: to the one so many behind, or to their mirror image. */
static inline void exchange_with(struct numalab_oracle *oracle, size_t shift, bool is_mirrored)
{
    unsigned char *before[RANKS];
    for (size_t rank = 0; rank < RANKS; rank++) before[rank] = oracle[rank].buffer;
    for (size_t rank = 0; rank < RANKS; rank++) {
        const size_t to = is_mirrored ? RANKS - 1 - rank : (rank + shift) % RANKS;
        oracle[to].buffer = before[rank];
        if (to != rank) grow_first_word(&oracle[to], ADDED);
    }
}

/* From the first rank, or from the last, to the other end and back. */
static inline void pass_along(struct numalab_oracle *oracle, bool is_downwards)
{
    for (size_t step = 0; step < 2 * (RANKS - 1); step++) {
        const bool is_back = step >= RANKS - 1;
        const size_t from = is_back ? 2 * (RANKS - 1) - step : step;
        const size_t to = is_back ? from - 1 : from + 1;
        struct numalab_oracle *source = &oracle[is_downwards ? RANKS - 1 - from : from];
        struct numalab_oracle *target = &oracle[is_downwards ? RANKS - 1 - to : to];
        memcpy(target->buffer, source->buffer, oracle->n);
        grow_first_word(target, ADDED);
    }
}

static void pass_messages(struct numalab_oracle *oracle)
{
    for (size_t repetition = 0; repetition < oracle->round_trips; repetition++)
        @pattern.oracle@
}

#endif
