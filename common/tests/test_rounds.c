#include "monitor/rounds.h"

#include "expect.h"

static int failures;

static const struct numalab_round_limits limits = {
    .least = 3, .most = 30, .share = 0.5, .budget_s = 1.0};

/* How many rounds there are where each takes round_s. */
static size_t rounds_of(double preparing_s, double round_s)
{
    size_t rounds = 0;
    while (rounds <= limits.most &&
           numalab_round_is_due(&limits, rounds, preparing_s, (double)rounds * round_s))
        rounds++;
    return rounds;
}

int main(void)
{
    /* The share of what starting took, in whole rounds. */
    EXPECT(rounds_of(1.0, 0.0625) == 8);
    EXPECT(rounds_of(1.0625, 0.0625) == 9);
    /* A slow start brings more of them, up to the most. */
    EXPECT(rounds_of(0.5, 0.015625) == 16);
    EXPECT(rounds_of(1.5, 0.015625) == limits.most);
    EXPECT(rounds_of(0.0, 0.015625) == limits.least);
    /* Long repetitions: the least, unless that takes more than there is. */
    EXPECT(rounds_of(0.5, 0.3125) == limits.least);
    EXPECT(rounds_of(0.5, 0.5) == 2);
    EXPECT(rounds_of(60.0, 0.25) == 4);
    EXPECT(rounds_of(60.0, 60.0) == 1);

    /* As many as are asked for, whatever they take. */
    const struct numalab_round_limits five = {
        .least = 5, .most = 5, .share = 1.0, .budget_s = 600.0};
    EXPECT(numalab_round_is_due(&five, 4, 0.0, 100.0));
    EXPECT(!numalab_round_is_due(&five, 5, 100.0, 0.0));
    return failures > 0;
}
