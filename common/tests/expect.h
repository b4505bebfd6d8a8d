/* The smallest thing that makes a test fail loudly. */
#ifndef NUMALAB_TESTS_EXPECT_H
#define NUMALAB_TESTS_EXPECT_H

#include <stdio.h>

/* Counts into `failures`. main returns failures > 0: a number of them could be 77, which skips, or
 * 256, which passes. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);               \
            failures++;                                                                            \
        }                                                                                          \
    } while (0)

#endif
