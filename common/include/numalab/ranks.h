/* What the phases of an MPI lab may tell the monitor, and ask of it. */
#ifndef NUMALAB_RANKS_H
#define NUMALAB_RANKS_H

#include <stdbool.h>

/* Notes what the kernel answered when it started MPI. */
void numalab_answer(int answer);

/* Whether a call is only checked or looked at, so that it need not last as long as one that is
 * timed: phases may then make fewer repetitions, as many as the driver beside them, which is told
 * when it makes an oracle. */
bool numalab_is_brief(void);

#endif
