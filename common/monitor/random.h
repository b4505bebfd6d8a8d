/* Random numbers that the student's process can't predict. */
#ifndef NUMALAB_MONITOR_RANDOM_H
#define NUMALAB_MONITOR_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#include "numalab/random.h"

/* Seeds random from Linux's random numbers. Returns 0 or a negative errno. */
int numalab_random_open(struct numalab_random *random);

/* Fills order with 0 to count - 1, each arrangement equally likely. */
void numalab_random_order(struct numalab_random *random, size_t *order, size_t count);

#endif
