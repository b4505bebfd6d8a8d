/* The smallest thing that makes a test fail loudly. */
#ifndef NUMALAB_TESTS_EXPECT_H
#define NUMALAB_TESTS_EXPECT_H

#include <stdio.h>

/* Counts into `failures`, which the test returns from main as its exit code. */
#define EXPECT(condition)                                                                \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: expected %s\n", __FILE__, __LINE__, #condition);     \
            failures++;                                                                  \
        }                                                                                \
    } while (0)

#endif
