/* The oracle of lab 06 finds what is wrong, and nothing else. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "inputs.h"
#include "numalab/driver.h"
#include "numalab/random.h"
#include "tests/expect.h"

static int failures;

enum { RANKS = 2, LARGEST = 1 << 17, CALLS = 3, CHANGES = 8, WORD_BYTES = 8 };
static unsigned char buffer[RANKS][LARGEST];

static void increment(unsigned char *message, size_t bytes)
{
    int64_t word;
    if (bytes < sizeof word) return;
    memcpy(&word, message, sizeof word);
    word++;
    memcpy(message, &word, sizeof word);
}

/* What a right kernel does, message by message. */
static void play(size_t bytes)
{
    for (size_t i = 0; i < repetitions_of(bytes, false); i++) {
        memcpy(buffer[1], buffer[0], bytes);
        increment(buffer[1], bytes);
        memcpy(buffer[0], buffer[1], bytes);
        increment(buffer[0], bytes);
    }
}

static size_t count_in_rank(struct numalab_oracle *oracle, size_t rank, size_t n, size_t chunk,
                            struct numalab_mismatch *mismatch)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    const struct numalab_oracle *view = driver->select_rank(oracle, rank);
    size_t mismatches = 0;
    for (size_t first = 0; first < n; first += chunk) {
        struct numalab_mismatch here;
        size_t count = n - first < chunk ? n - first : chunk;
        size_t actual = driver->compare(view, 0, first, count, buffer[rank] + first, &here);
        if (actual && !mismatches) *mismatch = here;
        mismatches += actual;
    }
    return mismatches;
}

static size_t count_mismatches(struct numalab_oracle *oracle, size_t n)
{
    struct numalab_mismatch ignored;
    size_t mismatches = 0;
    for (size_t rank = 0; rank < RANKS; rank++)
        mismatches += count_in_rank(oracle, rank, n, 1000, &ignored);
    return mismatches;
}

static void test_size(size_t n)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    struct numalab_oracle *oracle = driver->create_ranks(n, RANKS, false);
    struct numalab_mismatch mismatch = {0};
    uint64_t state = n;
    EXPECT(oracle != NULL);
    if (!oracle) return;

    for (size_t rank = 0; rank < RANKS; rank++) fill_buffer(buffer[rank], n, rank);
    driver->advance(oracle, "initialize");
    EXPECT(count_mismatches(oracle, n) == 0);
    for (size_t call = 0; call < CALLS; call++) {
        for (size_t i = 0; n > 0 && i < CHANGES; i++) {
            const size_t rank = numalab_splitmix(&state) % RANKS;
            struct numalab_change change;
            EXPECT(driver->change(driver->select_rank(oracle, rank), numalab_splitmix(&state),
                                  numalab_splitmix(&state), &change) == 0);
            EXPECT(change.array == 0 && change.element < n);
            EXPECT(buffer[rank][change.element] != change.value[0]);
            buffer[rank][change.element] = change.value[0];
            EXPECT(count_mismatches(oracle, n) == 0);
        }
        driver->advance(oracle, "ping_pong");
        play(n);
        EXPECT(count_mismatches(oracle, n) == 0);
        EXPECT(count_in_rank(oracle, 0, n, LARGEST, &mismatch) == 0);
    }

    /* One byte off, in either rank, is found and named. */
    const size_t places[] = {0, 1, 6, 7, 8, 999, 1000, n - 1};
    for (size_t rank = 0; rank < RANKS; rank++)
        for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
            if (places[i] >= n) continue;
            unsigned char *byte = &buffer[rank][places[i]];
            *byte ^= 1;
            EXPECT(count_mismatches(oracle, n) == 1);
            EXPECT(count_in_rank(oracle, rank, n, 1000, &mismatch) == 1);
            EXPECT(mismatch.array == 0 && mismatch.element == places[i]);
            EXPECT(mismatch.actual == *byte && mismatch.expected == (*byte ^ 1));
            *byte ^= 1;
        }

    /* Additions that are missing or too many are counted, in the first word only. */
    for (size_t i = 0; i < 3; i++) {
        const char *says[] = {"is 1 too large after ", "is 2 too small after ", ""};
        const int off[] = {1, -2, 1};
        unsigned char *byte = &buffer[0][i < 2 ? 0 : WORD_BYTES];
        char remark[NUMALAB_REMARK_BYTES] = "";
        if (n <= WORD_BYTES || *byte < 2 || *byte == UCHAR_MAX) continue;
        *byte = (unsigned char)(*byte + off[i]);
        EXPECT(count_in_rank(oracle, 0, n, LARGEST, &mismatch) == 1);
        driver->remark(driver->select_rank(oracle, 0), &mismatch, 0, n, buffer[0], remark);
        EXPECT(says[i][0] ? strstr(remark, says[i]) != NULL : remark[0] == '\0');
        *byte = (unsigned char)(*byte - off[i]);
    }

    /* A message more or less, or none at all. */
    if (n >= WORD_BYTES) {
        increment(buffer[1], n);
        EXPECT(count_mismatches(oracle, n) == 1);
    }
    driver->advance(oracle, "ping_pong");
    EXPECT((count_mismatches(oracle, n) > 0) == (n >= WORD_BYTES));
    driver->advance(oracle, "initialize");
    EXPECT(count_mismatches(oracle, n) >= n);
    driver->destroy(oracle);
}

/* The upper half of the first word changes with the first call, however few messages. */
static void test_carry(void)
{
    for (size_t rank = 0; rank < RANKS; rank++) {
        int64_t before, after;
        fill_buffer(buffer[rank], WORD_BYTES, rank);
        memcpy(&before, buffer[rank], sizeof before);
        after = before + 2 * FEWEST_REPETITIONS - 1;
        EXPECT(before >> 32 != after >> 32);
    }
}

int main(void)
{
    const struct numalab_driver *driver = numalab_drivers[0];
    EXPECT(strcmp(driver->part, "ping_pong") == 0);
    EXPECT(strcmp(numalab_drivers[1]->part, "placement") == 0 && !numalab_drivers[2]);

    EXPECT(driver->repetitions(0, false) == 10000 && driver->repetitions(8192, false) == 2048);
    EXPECT(driver->repetitions(65536, false) == 256 && driver->repetitions(4194304, false) == 4);
    EXPECT(driver->repetitions(0, true) == 50 && driver->repetitions(4194304, true) == 4);
    EXPECT(driver->bytes_moved(8) == 0); /* messages: no rate of memory */
    for (size_t i = 0; driver->check_n[i] != SIZE_MAX; i++) {
        const size_t n = driver->check_n[i];
        EXPECT(2 * n * driver->repetitions(n, false) <= 2u << 24);
    }

    test_carry();
    const size_t sizes[] = {0, 1, 7, 8, 9, 1000, 4099, 65537};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) test_size(sizes[i]);
    return failures > 0;
}
