/* The number of rounds of timed repetitions in a generation, which is one process for each role. */
#ifndef NUMALAB_MONITOR_ROUNDS_H
#define NUMALAB_MONITOR_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>

/* The limits of rounds. In a round each role makes one timed repetition; the warm-up is none. */
struct numalab_round_limits {
    size_t least, most;
    double share;    /* rounds go on until they took this share of the time before them */
    double budget_s; /* no further round begins once all repetitions together took so long */
};

/* Returns whether another round is due after a number of rounds. preparing_s: from the generation's
 * beginning until its repetitions began, warm-up included; repeating_s: since then.
 *
 * Where starting a process costs as much as many repetitions, a few of them waste it. So they go on
 * until they have taken a share of the time before them; a share of 1 at most doubles what a
 * generation takes, on any machine and for any kernel. (Kalibera and Jones, Rigorous Benchmarking
 * in Reasonable Time, 2013: the best number is the root of a process's cost over a repetition's,
 * times their scatter within processes over that between them.) A kernel that is far from the limit
 * needs the least number of generations however little these scatter, so the first ones of a
 * verdict go on half as long. A kernel that they don't decide is near the limit, or the machine is
 * loaded, and then longer ones pay.
 *
 * This spoils no verdict. A generation's sign compares the roles' best repetitions, and the judge
 * assumes only that a kernel that is no faster than required gets a good sign with a probability of
 * at most one half. The number of rounds follows the generation's own clock, in which the times of
 * all roles are one sum: it does not depend on which role is ahead, nor on one role's times, and of
 * earlier generations only on their number. All roles make the same number of repetitions. So a
 * role that is slow to start, or slow at all, changes that number for all alike. */
bool numalab_round_is_due(const struct numalab_round_limits *limits, size_t rounds,
                          double preparing_s, double repeating_s);

#endif
