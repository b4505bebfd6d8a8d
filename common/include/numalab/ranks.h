/* Functions for phases.c of an MPI lab: a report to the monitor, and a question about a call. */
#ifndef NUMALAB_RANKS_H
#define NUMALAB_RANKS_H

#include <stdbool.h>

/* Reports to the monitor what the kernel returned when it started MPI. */
void numalab_answer(int answer);

/* Returns whether a call is checked or observed and not timed, so that it may be short. Phases may
 * then make fewer repetitions: as many as the lab's driver expects, whose create_ranks and
 * repetitions get the same value. */
bool numalab_is_brief(void);

#endif
