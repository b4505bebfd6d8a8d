/* The sizes of a check: every remainder by 64, those around the team, and others each time. */
#include <jansson.h>
#include <string.h>

#include "expect.h"
#include "monitor/runs/runs.h"

static int failures;

enum { TEAM = 4, DIVISOR = 64, LARGEST = 100003, MOST_CHECKS = 128 };

static const struct numalab_node node = {.memory_bytes = (uint64_t)1 << 40};

struct sizes {
    size_t count, n[MOST_CHECKS];
};

static struct sizes sizes_of_check(void)
{
    struct numalab_run_options options = {
        .driver = numalab_drivers[0],
        .node = &node,
        .thread_count = TEAM,
        .role = {{.name = "submission", .program = MISBEHAVING_WORKER, .rank_count = 1}},
        .role_count = 1,
        .limits = {.phase_s = 30.0,
                   .memory_bytes = (uint64_t)64 << 20,
                   .output_bytes = 1 << 20,
                   .thread_count = TEAM},
        .cancel_fd = -1,
    };
    struct sizes sizes = {0};
    size_t i;
    const json_t *check;
    json_t *record = numalab_run_check(&options);
    const json_t *outcome = json_object_get(record, "outcome");
    EXPECT(strcmp(json_string_value(json_object_get(outcome, "status")), "ok") == 0);
    json_array_foreach(json_object_get(record, "checks"), i, check)
    {
        const json_int_t n = json_integer_value(json_object_get(check, "n"));
        EXPECT(n >= 1 && n <= LARGEST && sizes.count < MOST_CHECKS);
        if (sizes.count < MOST_CHECKS) sizes.n[sizes.count++] = (size_t)n;
    }
    json_decref(record);
    return sizes;
}

static bool has(const struct sizes *sizes, size_t n)
{
    size_t i = 0;
    while (i < sizes->count && sizes->n[i] != n) i++;
    return i < sizes->count;
}

static size_t remainders(const struct sizes *sizes, size_t divisor, size_t least)
{
    bool is_there[DIVISOR] = {false};
    size_t count = 0;
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->n[i] >= least) is_there[sizes->n[i] % divisor] = true;
    for (size_t i = 0; i < divisor; i++) count += is_there[i];
    return count;
}

/* Of the larger ones that are drawn, how many are far from the small ones. */
static size_t far_larger(const struct sizes *sizes)
{
    size_t count = 0;
    for (size_t i = 0; i < sizes->count; i++)
        count += sizes->n[i] >= 2048 && sizes->n[i] != 4099 && sizes->n[i] != LARGEST;
    return count;
}

/* Of 512 to 100,000 each power of two is as likely as any other: 0.61 of 192 sizes. */
static void test_large_sizes_are_of_every_size(void)
{
    size_t count = 0;
    for (int i = 0; i < 12; i++) {
        const struct sizes sizes = sizes_of_check();
        count += far_larger(&sizes);
    }
    EXPECT(count > 85 && count < 149);
}

int main(void)
{
    static const size_t always[] = {1, 2, TEAM - 1, TEAM, TEAM + 1, 7, 1000, 4099, LARGEST};
    const struct sizes first = sizes_of_check(), second = sizes_of_check();
    size_t others = 0;
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++) EXPECT(has(&first, always[i]));
    EXPECT(remainders(&first, DIVISOR, 1) == DIVISOR);
    EXPECT(remainders(&first, 16, 512) == 16);
    for (size_t i = 0; i < second.count; i++) others += !has(&first, second.n[i]);
    EXPECT(others > DIVISOR / 4);
    test_large_sizes_are_of_every_size();
    return failures > 0;
}
