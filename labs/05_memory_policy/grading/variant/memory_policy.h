/* Lab 05, a variant, the contract: what kernel.c has to define. kernel.f90 defines the same
 * four names as bind(c) subroutines.
 *
 * All four place memory and leave its contents and the policy of all other
 * memory as they are. They are called outside of parallel regions. Memory is
 * aligned like a uint64_t and no better, and bytes can be any number from 8 on:
 * a page that is partly an array's may be placed with it. Threads stay where
 * they are for as long as the program runs; they need not be on all of the
 * machine's NUMA nodes. */
#ifndef MEMORY_POLICY_H
#define MEMORY_POLICY_H

/* For sched_getcpu in <sched.h>. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <stddef.h>

/* Nothing has touched the table yet. README.md says in runs of how many pages it goes to
 * which NUMA nodes, one after another: the first run, which begins with the page that the
 * table begins in, to one of them, the second run to the next one, and so on in turn.
 * Where threads run on one NUMA node only, anywhere. */
void place_table(void *table, size_t bytes);

/* One thread has written all of the blocks. There are as many parts as threads in
 * a team, all of the same size: part i begins at byte bytes / parts * i, or a few
 * bytes behind it. It goes to the NUMA node of the thread that works on it; README.md
 * says which one that is. */
void place_blocks(void *blocks, size_t bytes, int parts);

/* The matrix has a new user, on this NUMA node. What was written before moves
 * there, and what is touched later comes to live there, whoever touches it. Where
 * the node has no memory left the rest lives elsewhere, and the program goes on. */
void hand_over(void *matrix, size_t bytes, int node);

/* Nothing has touched the stream yet. It goes to the NUMA node whose memory has
 * the most bandwidth for the thread that calls, as far as the system tells; where
 * it does not, to that thread's own. */
void place_stream(void *stream, size_t bytes);

#endif
