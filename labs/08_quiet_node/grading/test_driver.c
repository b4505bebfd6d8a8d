/* What the driver of lab 08 draws is what it says, and its oracle finds what is wrong. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "tests/expect.h"

static int failures;

enum { READINGS, REQUEST, STOPS, STEAL };
enum { A, B, LENGTH, VERDICT };
enum { SEEDS = 40 };

static size_t kinds_of(const struct numalab_driver *driver)
{
    size_t count = 0;
    while (driver->series->kinds[count]) count++;
    return count;
}

static size_t kind_named(const struct numalab_driver *driver, const char *name)
{
    size_t kind = 0;
    while (strcmp(driver->series->kinds[kind], name) != 0) kind++;
    return kind;
}

/* ---- noise ------------------------------------------------------------------------------ */

static const int64_t *readings_of(const struct numalab_driver *driver,
                                  const struct numalab_oracle *oracle)
{
    return driver->renewed(oracle, READINGS);
}

static const int64_t *get_request(const struct numalab_driver *driver,
                                  const struct numalab_oracle *oracle)
{
    return driver->renewed(oracle, REQUEST);
}

/* By hand: each gap over the shortest of all, as far as the watch goes. */
static void find(const int64_t *reading, size_t n, const int64_t *request, int64_t actual[2])
{
    int64_t shortest = INT64_MAX;
    actual[0] = actual[1] = 0;
    for (size_t i = 1; i < n; i++)
        if (reading[i] - reading[i - 1] < shortest) shortest = reading[i] - reading[i - 1];
    for (size_t i = 1; i < n && reading[i - 1] - reading[0] < request[WATCH_NS]; i++) {
        const int64_t over_ns = reading[i] - reading[i - 1] - shortest;
        if (over_ns < request[LEAST_NS]) continue;
        actual[0]++;
        actual[1] += over_ns;
    }
}

static bool is_near(int64_t actual, int64_t truth)
{
    return llabs(actual - truth) <= truth / 20;
}

/* No gap is so long that one could argue about it, and the readings tell the truth. */
static void test_clock(const struct numalab_driver *driver, size_t kind, uint64_t seed)
{
    const size_t n = driver->series->n;
    struct numalab_oracle *oracle = driver->create(n);
    int64_t truth[NUMALAB_MAX_ANSWERS], actual[2], mismatches[1];
    struct numalab_mismatch mismatch;
    EXPECT(oracle != NULL);
    driver->advance(oracle, "set_clock");
    EXPECT(driver->series->draw(oracle, kind, seed) == n);
    driver->series->truth(oracle, truth);
    const int64_t *reading = readings_of(driver, oracle), *request = get_request(driver, oracle);
    for (size_t i = 1; i < n; i++) EXPECT(reading[i] >= reading[i - 1]);
    EXPECT(reading[0] + request[WATCH_NS] <= reading[n - 1]);
    find(reading, n, request, actual);
    EXPECT(actual[0] == truth[0] && is_near(actual[1], truth[1]));

    driver->advance(oracle, "noise");
    EXPECT(driver->compare(oracle, STOPS, 0, 1, &truth[0], &mismatch) == 0);
    EXPECT(driver->compare(oracle, STEAL, 0, 1, &truth[1], &mismatch) == 0);
    EXPECT(driver->compare(oracle, READINGS, 0, n, reading, &mismatch) == 0);
    mismatches[0] = truth[0] + 1 + truth[0] / 5;
    EXPECT(driver->compare(oracle, STOPS, 0, 1, mismatches, &mismatch) == 1);
    EXPECT(mismatch.array == STOPS && mismatch.expected == (double)truth[0]);
    mismatches[0] = truth[1] - 1 - truth[1] / 5;
    EXPECT(driver->compare(oracle, STEAL, 0, 1, mismatches, &mismatch) == 1);
    driver->destroy(oracle);
}

static int64_t stops_of(const struct numalab_driver *driver, const char *name, uint64_t seed)
{
    struct numalab_oracle *oracle = driver->create(driver->series->n);
    int64_t truth[NUMALAB_MAX_ANSWERS];
    driver->series->draw(oracle, kind_named(driver, name), seed);
    driver->series->truth(oracle, truth);
    driver->destroy(oracle);
    return truth[0];
}

static void test_clocks(const struct numalab_driver *driver)
{
    for (size_t kind = 0; kind < kinds_of(driver); kind++)
        for (uint64_t seed = 0; seed < SEEDS; seed++) test_clock(driver, kind, seed * 7919);
    EXPECT(stops_of(driver, "no stop", 1) == 0);
    EXPECT(stops_of(driver, "few stops", 1) > 0 && stops_of(driver, "few stops", 1) < 60);
    EXPECT(stops_of(driver, "many stops", 1) > (int64_t)driver->series->n / 8);
    EXPECT(stops_of(driver, "few stops", 1) != stops_of(driver, "few stops", 2) ||
           stops_of(driver, "few stops", 2) != stops_of(driver, "few stops", 3));
}

/* As handed to the worker at first, and as renewed where results are checked. */
static void test_check_of_clock(const struct numalab_driver *driver, size_t n)
{
    struct numalab_oracle *oracle = driver->create(n);
    int64_t reading[1], answer = initial_answer, actual[2];
    char remark[NUMALAB_REMARK_BYTES] = "";
    struct numalab_mismatch mismatch;
    driver->advance(oracle, "set_clock");
    for (size_t i = 0; i < n; i++) {
        reading[0] = initial_reading(i);
        EXPECT(driver->compare(oracle, READINGS, i, 1, reading, &mismatch) == 0);
        reading[0]++;
        EXPECT(driver->compare(oracle, READINGS, i, 1, reading, &mismatch) == 1);
    }
    for (size_t i = 0; i < REQUEST_LENGTH; i++) {
        const int64_t request = initial_request(n, i);
        EXPECT(driver->compare(oracle, REQUEST, i, 1, &request, &mismatch) == 0);
    }
    EXPECT(driver->compare(oracle, STOPS, 0, 1, &answer, &mismatch) == 0);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        driver->renew(oracle, seed);
        driver->advance(oracle, "noise");
        find(readings_of(driver, oracle), n, get_request(driver, oracle), actual);
        EXPECT(driver->compare(oracle, STOPS, 0, 1, &actual[0], &mismatch) == 0);
        EXPECT(driver->compare(oracle, STEAL, 0, 1, &actual[1], &mismatch) == 0);
        EXPECT(driver->compare(oracle, STOPS, 0, 1, &answer, &mismatch) == 1);
    }
    driver->remark(oracle, &mismatch, 0, 1, &answer, remark);
    EXPECT(strstr(remark, "has written nothing") != NULL);
    driver->destroy(oracle);
}

/* ---- decide ----------------------------------------------------------------------------- */

/* Over many seeds the median ratio is on the side of the truth, and an equal pair is on neither. */
static void test_pairs(const struct numalab_driver *driver, size_t kind)
{
    struct numalab_oracle *oracle = driver->create(driver->series->n);
    size_t told[3] = {0}, against = 0, wins[3] = {0}, pairs[3] = {0};
    for (uint64_t seed = 0; seed < SEEDS * 10; seed++) {
        int64_t truth[NUMALAB_MAX_ANSWERS];
        const size_t n = driver->series->draw(oracle, kind, seed * 104729);
        const double *a_s = driver->renewed(oracle, A), *b_s = driver->renewed(oracle, B);
        const int64_t *length = driver->renewed(oracle, LENGTH);
        size_t of_a = 0, of_b = 0;
        driver->series->truth(oracle, truth);
        EXPECT(n >= 5 && n <= driver->series->n && length[0] == (int64_t)n);
        EXPECT(truth[0] >= -1 && truth[0] <= 1);
        for (size_t i = 0; i < n; i++) {
            EXPECT(a_s[i] > 0.0 && b_s[i] > 0.0 && isfinite(a_s[i]) && isfinite(b_s[i]));
            if (a_s[i] < b_s[i]) of_a++;
            if (b_s[i] < a_s[i]) of_b++;
        }
        /* Behind the series is no number. */
        for (size_t i = n; i < driver->series->n; i++) EXPECT(isnan(a_s[i]) && isnan(b_s[i]));
        told[truth[0] + 1]++;
        wins[truth[0] + 1] += of_a;
        pairs[truth[0] + 1] += of_a + of_b;
        against += (truth[0] < 0 && of_a <= of_b) || (truth[0] > 0 && of_b <= of_a);
    }
    EXPECT(against == 0);
    /* A is the faster one as often as B. */
    EXPECT(llabs((long long)told[0] - (long long)told[2]) <= 2 + (long long)SEEDS * 2);
    if (pairs[1] > 0) {
        const double share = (double)wins[1] / (double)pairs[1];
        EXPECT(share > 0.46 && share < 0.54);
    }
    driver->destroy(oracle);
}

static void test_check_of_pairs(const struct numalab_driver *driver, size_t n)
{
    struct numalab_oracle *oracle = driver->create(n);
    size_t told[3] = {0};
    struct numalab_mismatch mismatch;
    driver->advance(oracle, "set_times");
    for (size_t i = 0; i < n; i++) {
        double time_s = initial_time_s(i);
        EXPECT(driver->compare(oracle, A, i, 1, &time_s, &mismatch) == 0);
        time_s = NAN;
        EXPECT(driver->compare(oracle, B, i, 1, &time_s, &mismatch) == 1);
    }
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        driver->renew(oracle, seed);
        driver->advance(oracle, "decide");
        const double *a_s = driver->renewed(oracle, A), *b_s = driver->renewed(oracle, B);
        const int64_t right = a_s[0] < b_s[0] ? -1 : a_s[0] > b_s[0];
        const int64_t length = (int64_t)n;
        for (int64_t answer = -2; answer <= 2; answer++)
            EXPECT(driver->compare(oracle, VERDICT, 0, 1, &answer, &mismatch) == (answer != right));
        EXPECT(driver->compare(oracle, LENGTH, 0, 1, &length, &mismatch) == 0);
        EXPECT(driver->compare(oracle, A, 0, n, a_s, &mismatch) == 0);
        told[right + 1]++;
    }
    EXPECT(n < 12 ? told[1] == SEEDS : told[0] > 0 && told[1] > 0 && told[2] > 0);
    driver->destroy(oracle);
}

int main(void)
{
    const struct numalab_driver *noise = numalab_drivers[0], *decide = numalab_drivers[1];
    EXPECT(noise->stop_detection && noise->stop_detection->request == REQUEST);
    EXPECT(noise->series->first_answer == STOPS && noise->series->answer_count == 2);
    EXPECT(decide->series->first_answer == VERDICT && !decide->stop_detection);
    test_clocks(noise);
    test_check_of_clock(noise, 100);
    test_check_of_clock(noise, 1001);
    for (size_t kind = 0; kind < kinds_of(decide); kind++) test_pairs(decide, kind);
    test_check_of_pairs(decide, 5);
    test_check_of_pairs(decide, 12);
    test_check_of_pairs(decide, 1000);
    return failures > 0;
}
