/* Lab 06: who sends what to whom in a call of the kernel, as driver.c's oracle does it. A variant
 * has another pattern. Included behind the oracle and grow_first_word. */
#ifndef MESSAGE_LATENCY_PATTERN_H
#define MESSAGE_LATENCY_PATTERN_H

#define CALL_PHASE "ping_pong"
#define KERNEL_PART "ping_pong"
#define ADDED_TO_WORD "1" /* by who receives a message */

/* RANKS: of a job; MOST_ADDED: to a word, in one repetition. */
enum { RANKS = 2, MOST_ADDED = 2 };

static void pass_messages(struct numalab_oracle *oracle)
{
    memcpy(oracle[1].buffer, oracle[0].buffer, oracle->n);
    grow_first_word(&oracle[0], 2 * oracle->round_trips);
    grow_first_word(&oracle[1], 2 * oracle->round_trips - 1);
}

#endif
