#include "monitor/random.h"

#include <stdbool.h>

#include "expect.h"

static int failures;

/* Of both generators, as their authors give it: SplitMix64 from seed 0, and SipHash-2-4 of the
 * bytes 0 to 7 by a key of the bytes 0 to 15. */
static void test_reference(void)
{
    const uint64_t key[2] = {0x0706050403020100u, 0x0f0e0d0c0b0a0908u};
    uint64_t state = 0;
    EXPECT(numalab_splitmix(&state) == 0xe220a8397b1dcdafu);
    EXPECT(numalab_splitmix(&state) == 0x6e789e6aa1b965f4u);
    EXPECT(numalab_siphash(key, 0x0706050403020100u) == 0x93f5f5799a932462u);
}

static uint64_t undo_shift(uint64_t mixed, unsigned bits)
{
    uint64_t found = mixed;
    for (unsigned done = bits; done < 64; done += bits) found = mixed ^ found >> bits;
    return found;
}

static uint64_t inverse(uint64_t odd)
{
    uint64_t found = odd;
    for (int i = 0; i < 6; i++) found *= 2 - odd * found;
    return found;
}

/* As a kernel could: the state of SplitMix64 behind a number that it has drawn. */
static uint64_t state_behind(uint64_t number)
{
    uint64_t state = undo_shift(number, 31) * inverse(UINT64_C(0x94d049bb133111eb));
    state = undo_shift(state, 27) * inverse(UINT64_C(0xbf58476d1ce4e5b9));
    return undo_shift(state, 30);
}

static void test_drawn_values_are_unpredictable(void)
{
    struct numalab_random random = {.seed = 2012};
    uint64_t weak = 2012;
    uint64_t state = state_behind(numalab_splitmix(&weak));
    EXPECT(numalab_splitmix(&state) == numalab_splitmix(&weak)); /* so one can compute it */
    state = state_behind(numalab_random_next(&random));
    EXPECT(numalab_splitmix(&state) != numalab_random_next(&random));
}

int main(void)
{
    struct numalab_random random = {0};
    enum { COUNT = 3, TRIALS = 6000 };
    size_t order[COUNT], seen[COUNT][COUNT] = {{0}};

    test_reference();
    test_drawn_values_are_unpredictable();

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
