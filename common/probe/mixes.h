/* Loops of a given mix: so many arrays that are only read, only written, and read and written. */
#ifndef NUMALAB_PROBE_MIXES_H
#define NUMALAB_PROBE_MIXES_H

/* The words after `probe mixes`:
 *
 *   loops=2+1+0,0+1+0 bytes=67108864 repetitions=5
 *
 * loops: of each loads+stores+updates, arrays of doubles that it only reads, only writes, and reads
 * and writes. bytes: of each array of a pool of eight; a loop takes the next ones of them in turn,
 * so that between two uses of an array the whole pool goes by, which a cache has to hold for an
 * array to be found there. The loops take turns, repetition by repetition, after one that warms up.
 * Prints a record. Returns the program's exit code, as main.c has it. */
int probe_mixes(int words, char **word);

#endif
