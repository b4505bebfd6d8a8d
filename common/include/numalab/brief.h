/* A call that is only checked or looked at need not last as long as one that is timed. */
#ifndef NUMALAB_BRIEF_H
#define NUMALAB_BRIEF_H

/* Is set in the workers of runs that check results, or where ranks sit: their phases may then make
 * fewer repetitions, as many as the driver beside them, which is told when it makes an oracle. */
#define NUMALAB_BRIEF_VARIABLE "NUMALAB_BRIEF"

#endif
