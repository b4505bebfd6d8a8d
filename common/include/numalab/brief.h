/* A call that is only checked or looked at need not last as long as one that is timed. */
#ifndef NUMALAB_BRIEF_H
#define NUMALAB_BRIEF_H

/* Is set in the monitor and in the workers of runs that check results, or where ranks sit: a
 * driver and the phases beside it may then make fewer repetitions, both the same number. */
#define NUMALAB_BRIEF_VARIABLE "NUMALAB_BRIEF"

#endif
