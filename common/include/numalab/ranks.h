/* What the phases of an MPI lab may tell the monitor. */
#ifndef NUMALAB_RANKS_H
#define NUMALAB_RANKS_H

/* Notes what the kernel answered when it started MPI. */
void numalab_answer(int answer);

#endif
