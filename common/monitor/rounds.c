#include "rounds.h"

bool numalab_round_is_due(const struct numalab_round_limits *limits, size_t rounds,
                          double preparing_s, double repeating_s)
{
    if (rounds == 0) return true; /* without a time there is nothing to compare */
    if (rounds >= limits->most || repeating_s >= limits->budget_s) return false;
    return rounds < limits->least || repeating_s < limits->share * preparing_s;
}
