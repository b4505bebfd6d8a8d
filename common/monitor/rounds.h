/* How many rounds of timed repetitions a generation has. */
#ifndef NUMALAB_MONITOR_ROUNDS_H
#define NUMALAB_MONITOR_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

/* Of timed repetitions, which each role makes one of in a round; the warm-up is none. */
struct numalab_round_limits {
    size_t least, most;
    double share;    /* of what came before them: so long they go on */
    double budget_s; /* no further round begins once all repetitions together took so long */
};

/* Whether another round is due after so many. preparing_s: from the generation's begin until its
 * repetitions began, warm-up included; repeating_s: since then.
 *
 * Where starting a process costs as much as many repetitions, few of them waste it; so they go
 * on until they have taken a share of all that came before them: as long as that, which at most
 * doubles what a generation takes, on any node and for any kernel. (Kalibera and Jones, Rigorous
 * Benchmarking in Reasonable Time, 2013: the best number is the root of a process's cost over a
 * repetition's, times their scatter within processes over that between them.) But a sign can't be
 * surer than won. A kernel that is clear of the limit needs the least generations however little
 * they scatter, so the first of a verdict go on half as long; who is not decided by them is near
 * the limit, or the node is busy, and then it pays.
 *
 * It spoils no verdict. A generation's sign compares the roles' best repetitions, and all that the
 * judge takes for granted is that who is no faster than asked for gets a good one with at most an
 * even chance. The number of rounds follows the generation's own clock, in which the
 * times of all roles are one sum; never who is ahead, never one role's times, and of earlier
 * generations nothing but how many there were. Rounds are whole, so all roles make as many
 * repetitions. Who is slow to start, or slow at all, changes the number for all alike. So it
 * decides what a margin is, by one measure for all, and peeks at no sign. */
bool numalab_round_is_due(const struct numalab_round_limits *limits, size_t rounds,
                          double preparing_s, double repeating_s);

#endif
