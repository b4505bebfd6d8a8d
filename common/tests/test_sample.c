#include "monitor/sample.h"

#include <math.h>
#include <stdbool.h>
#include <unistd.h>

#include "expect.h"

static int failures;

enum { SEEDS = 40, ARRAYS = 3 };

/* In order, within the array, with gaps between them, and found where they are. */
static void expect_sound(const struct numalab_sample *sample)
{
    size_t end = 0, traced = 0;
    for (size_t i = 0; i < sample->block_count; i++) {
        const struct numalab_block *block = &sample->block[i];
        EXPECT(block->page_count > 0 && block->preceding_pages == traced);
        EXPECT(i == 0 || block->first_page > end);
        EXPECT(numalab_sample_find(sample, block->first_page) == (ptrdiff_t)traced);
        end = block->first_page + block->page_count;
        traced += block->page_count;
        EXPECT(numalab_sample_find(sample, end - 1) == (ptrdiff_t)traced - 1);
        const bool is_last = i + 1 == sample->block_count;
        EXPECT(is_last || numalab_sample_find(sample, end) == -1);
    }
    EXPECT(end <= sample->page_count && traced == sample->traced_count);
    EXPECT(numalab_sample_find(sample, sample->page_count) == -1);
}

static const struct numalab_array arrays[] = {{"a", 8}, {"b", 4}, {"c", 8}, {"d", 8}};
static const struct numalab_driver driver = {.arrays = arrays, .array_count = ARRAYS};

static void free_all(struct numalab_sample *sample, size_t count)
{
    for (size_t i = 0; i < count; i++) numalab_sample_free(&sample[i]);
}

/* Who shares three arrays out equally is seen to do so: in whole equal shares exactly, and in turns
 * of any number of pages so closely that no verdict hangs on the pages that are looked at (a
 * criterion allows 0.5 off). */
static void test_shares(size_t team, size_t pages_per_thread, size_t traced, double most_off)
{
    const size_t pages = team * pages_per_thread;
    const size_t bytes = pages * (size_t)sysconf(_SC_PAGESIZE);
    const size_t of_each[ARRAYS] = {bytes, bytes, bytes};
    const size_t most = traced > 8 * team * ARRAYS ? traced / ARRAYS : 8 * team;
    double farthest = 0.0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const struct numalab_sampling sampling = {seed, traced, team};
        struct numalab_sample sample[NUMALAB_MAX_ARRAYS];
        EXPECT(numalab_sample_draw_all(sample, &sampling, &driver, of_each) == 0);
        for (size_t i = 0; i < ARRAYS; i++) {
            expect_sound(&sample[i]);
            EXPECT(sample[i].traced_count <= most && sample[i].traced_count * 10 >= most * 8);
        }
        EXPECT(numalab_sample_unevenness(sample, ARRAYS, team, pages_per_thread) == 0.0);
        for (size_t turn = 1; turn <= pages_per_thread / 4; turn += 1 + pages_per_thread / 64) {
            const double off = numalab_sample_unevenness(sample, ARRAYS, team, turn);
            if (off > farthest) farthest = off;
        }
        free_all(sample, ARRAYS);
    }
    if (!(farthest <= most_off))
        fprintf(stderr, "team %zu, %zu pages per thread, %zu traced: off by %.2f\n", team,
                pages_per_thread, traced, farthest);
    EXPECT(farthest <= most_off);
}

/* Of two threads that have two pages and one in turns, on all pages and on the second of each. */
static void test_unevenness(void)
{
    struct numalab_block all = {0, 12, 0}, second[] = {{1, 1, 0}, {3, 1, 1}};
    const struct numalab_sample whole = {12, 12, 1, &all}, some = {12, 2, 2, second};
    EXPECT(numalab_sample_unevenness(&whole, 1, 2, 1) == 0.0);
    EXPECT(numalab_sample_unevenness(&whole, 1, 2, 5) == 0.0); /* 7 and 5 pages, as they are */
    EXPECT(numalab_sample_unevenness(&some, 1, 2, 1) == 1.0);
    EXPECT(numalab_sample_unevenness(&some, 1, 2, 2) == 0.0);
}

/* Each page is as likely as any other. */
static void test_uniform(void)
{
    enum { PAGES = 96, DRAWS = 20000 };
    static int drawn[PAGES];
    struct numalab_random random = {.seed = 1};
    for (int draw = 0; draw < DRAWS; draw++) {
        struct numalab_sample sample;
        EXPECT(numalab_sample_draw(&sample, &random, PAGES, PAGES / 2, 1) == 0);
        for (size_t page = 0; page < PAGES; page++)
            drawn[page] += numalab_sample_find(&sample, page) >= 0;
        numalab_sample_free(&sample);
    }
    for (size_t page = 0; page < PAGES; page++)
        EXPECT(fabs(drawn[page] / (double)DRAWS - 0.5) < 0.03);
}

static void test_arrays(void)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    const size_t bytes[] = {3000 * page_bytes, 1500 * page_bytes, 8, 3000 * page_bytes};
    const struct numalab_driver four = {.arrays = arrays, .array_count = 4},
                                two = {.arrays = arrays, .array_count = 2},
                                fixed = {.arrays = arrays, .array_count = 2, .evidence_n = 1};
    const struct numalab_sampling sampling = {.seed = 5, .traced_pages = 750, .team = 3};
    struct numalab_sample sample[NUMALAB_MAX_ARRAYS];
    EXPECT(numalab_sample_draw_all(sample, &sampling, &four, bytes) == 0);
    EXPECT(sample[0].traced_count == 288 && sample[1].traced_count == 144);
    EXPECT(sample[2].traced_count == 0 && sample[2].block_count == 0);
    EXPECT(sample[3].traced_count == 288);
    EXPECT(sample[3].block[7].first_page != sample[0].block[7].first_page);
    free_all(sample, 4);

    /* Pages enough for all: one block. And a large team gets some pages each. */
    const struct numalab_sampling all = {.traced_pages = 16384, .team = 3};
    EXPECT(numalab_sample_draw_all(sample, &all, &two, bytes) == 0);
    EXPECT(sample[0].block_count == 1 && sample[0].traced_count == 3000);
    free_all(sample, 2);
    const struct numalab_sampling large = {.traced_pages = 384, .team = 100};
    EXPECT(numalab_sample_draw_all(sample, &large, &two, bytes) == 0);
    EXPECT(sample[0].traced_count == 800 && sample[1].traced_count == 800);
    free_all(sample, 2);
    /* Where the driver names the size, it has as many pages as it wants. */
    EXPECT(numalab_sample_draw_all(sample, &sampling, &fixed, bytes) == 0);
    EXPECT(sample[0].traced_count == 3000 && sample[1].traced_count == 1500);
    free_all(sample, 2);
}

int main(void)
{
    test_shares(2, 1024, 2048, 0.25);
    test_shares(2, 1152, 2048, 0.25);
    test_shares(4, 512, 384, 0.45);
    test_shares(6, 350, 384, 0.45);
    test_shares(8, 256, 240, 0.5);
    test_shares(8, 283, 240, 0.5);
    test_shares(8, 256, 384, 0.45);
    test_shares(8, 288, 384, 0.45);
    test_shares(16, 128, 384, 0.5);
    test_shares(16, 144, 2048, 0.3);
    test_shares(32, 64, 2048, 0.5);
    test_shares(64, 40, 2048, 0.5);
    test_shares(64, 36, 1536, 0.5);
    test_unevenness();
    test_uniform();
    test_arrays();
    return failures > 0;
}
