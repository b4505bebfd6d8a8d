/* Loops of a given mix: so many arrays that are only read, only written, and read and written. */
#ifndef NUMALAB_PROBE_MIXES_H
#define NUMALAB_PROBE_MIXES_H

/* The words after `probe mixes`:
 *
 *   loops=2+1+0,0+1+0 bytes=33554432 arrays=16 repetitions=5
 *
 * loops: of each loads+stores+updates, arrays of doubles that it only reads, only writes, and reads
 * and writes. bytes: of each array of a pool of so many; a loop takes the next ones of them in
 * turn, so that between two uses of an array the whole pool goes by, which a cache has to hold for
 * an array to be found there. Many small arrays and many repetitions are better than few large
 * ones: the shorter a repetition, the likelier is one that nothing has disturbed. The loops take
 * turns, repetition by repetition, after one that warms up. Prints a record. Returns the program's
 * exit code, as main.c has it. */
int probe_mixes(int words, char **word);

#endif
