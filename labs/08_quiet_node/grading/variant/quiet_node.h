/* Lab 08, a variant, the contract: what kernel.c has to define. kernel.f90
 * defines the same two names with bind(c): a subroutine, to which now_ns is a
 * type(c_funptr) with value, and a function of integer(c_int). */
#ifndef QUIET_NODE_H
#define QUIET_NODE_H

#include <stddef.h>
#include <stdint.h>

/* Watches this thread for watch_ns nanoseconds and finds the stops: times in
 * which it wants to run and does not.
 *
 * now_ns reads a clock, in nanoseconds, which never goes back; it is the only
 * clock to use. Read it again and again, until a reading is watch_ns or more
 * after the first one. Between two readings that follow each other there was a
 * stop if they are at least least_ns further apart than two readings without one.
 * *stops = how many stops there were, *stolen_ns = what they took in all, without
 * what reading the clock takes.
 * @stops.words@
 *
 * Called many times, with clocks and nodes of any kind: a reading may take 20 ns
 * or 50 us, the clock may tick in steps of a microsecond, and there may be no
 * stop at all, or one behind every third reading. */
void noise(int64_t (*now_ns)(void), int64_t watch_ns, int64_t least_ns,
           int64_t *stops, int64_t *stolen_ns);

/* Which of two programs takes less time? -1: A does; 1: B does; 0: these times
 * do not tell.
 *
 * a_s and b_s have n times each, in seconds and above 0; n is 5 or more. A and B
 * ran in turns: a_s[i] and b_s[i] were taken one right after the other, in random
 * order. Something else on the node may have disturbed either of them, or both,
 * once or for a while.
 *
 * That B takes up to @worth.percent@ longer than A is not worth a word, nor that A
 * takes up to @other.percent@ longer than B: 0 is right. Where it is worth one, B
 * takes at least @worth.least@ times as long, or A at least @other.least@ times.
 * A wrong -1 or 1 costs twice as much as a 0 in place of either. */
int decide(size_t n, const double *a_s, const double *b_s);

#endif
