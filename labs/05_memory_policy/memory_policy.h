/* Lab 05, the contract: what kernel.c has to define. kernel.f90 defines the same
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

/* Nothing has touched the table yet. Its pages go in turn to the NUMA nodes that
 * this program's threads run on, one by one. */
void place_table(void *table, size_t bytes);

/* One thread has written all of the blocks. There are as many parts as threads in
 * a team, all of the same size: part i begins at byte bytes / parts * i, or a few
 * bytes behind it, and goes to the NUMA node that thread i runs on. */
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
