#include "monitor/random.h"

#include <stdbool.h>

#include "expect.h"

static int failures;

int main(void)
{
    struct numalab_random random = {0};
    enum { COUNT = 3, TRIALS = 6000 };
    size_t order[COUNT], seen[COUNT][COUNT] = {{0}};

    /* The generator's reference sequence from seed 0. */
    EXPECT(numalab_random_next(&random) == 0xe220a8397b1dcdafu);
    EXPECT(numalab_random_next(&random) == 0x6e789e6aa1b965f4u);

    for (int trial = 0; trial < TRIALS; trial++) {
        bool present[COUNT] = {false};
        numalab_random_order(&random, order, COUNT);
        for (size_t i = 0; i < COUNT; i++) {
            EXPECT(order[i] < COUNT && !present[order[i]]);
            present[order[i]] = true;
            seen[i][order[i]]++;
        }
    }
    /* Every place for everybody alike: 2000 expected, 6 standard deviations allowed. */
    for (size_t i = 0; i < COUNT; i++)
        for (size_t k = 0; k < COUNT; k++) EXPECT(seen[i][k] > 1780 && seen[i][k] < 2220);

    struct numalab_random one, other;
    EXPECT(numalab_random_open(&one) == 0 && numalab_random_open(&other) == 0);
    EXPECT(one.seed != other.seed);
    return failures > 0;
}
