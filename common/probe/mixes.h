/* Times loops over given numbers of arrays that are only read, only written, and read and written.
 */
#ifndef NUMALAB_PROBE_MIXES_H
#define NUMALAB_PROBE_MIXES_H

/* Measures, by the words after `probe mixes`:
 *
 *   loops=2+1+0,0+1+0 bytes=33554432 arrays=16 repetitions=5
 *
 * loops: for each loop loads+stores+updates, its numbers of arrays of doubles that are only read,
 * only written, and read and written. arrays, bytes: the number of arrays in a pool, and the size
 * of each. A loop takes the next arrays of the pool in turn, so that the whole pool is used between
 * two uses of an array, and only a cache that holds all of it could still have the array. Many
 * small arrays and many repetitions are better than a few large ones: the shorter a repetition, the
 * likelier is one without disturbance. The loops take turns, repetition by repetition, after one
 * that warms up. Prints a record. Returns the program's exit code, as main.c defines them. */
int probe_mixes(int words, char **word);

#endif
