#include "sample.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "traced_pages.h"

/* Of a thread's equal share: blocks that are spread over it, if there are pages enough, and the
 * least pages that are looked at. Of so many draws the most even one is taken. */
enum { BLOCKS_PER_SHARE = 16, LEAST_PAGES_PER_SHARE = 8, DRAWS = 16 };

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Adds pages behind all others; two blocks that touch become one. */
static void add(struct numalab_sample *sample, size_t first_page, size_t page_count)
{
    struct numalab_block *last = sample->block + sample->block_count;
    if (!page_count) return;
    if (sample->block_count && last[-1].first_page + last[-1].page_count == first_page)
        last[-1].page_count += page_count;
    else {
        *last = (struct numalab_block){first_page, page_count, sample->traced_count};
        sample->block_count++;
    }
    sample->traced_count += page_count;
}

int numalab_sample_draw(struct numalab_sample *sample, struct numalab_random *random,
                        size_t page_count, size_t traced, size_t team)
{
    *sample = (struct numalab_sample){.page_count = page_count};
    const size_t per_share = traced / team ? traced / team : 1;
    const bool is_whole = traced >= page_count || per_share * team >= page_count;
    const size_t length = is_whole                       ? page_count
                          : per_share > BLOCKS_PER_SHARE ? per_share / BLOCKS_PER_SHARE
                                                         : 1;
    const size_t parts = is_whole ? 1 : per_share / length * team;

    /* A block that goes on at the beginning of its part is two. */
    sample->block = calloc(2 * parts, sizeof *sample->block);
    if (!sample->block) return -ENOMEM;
    if (is_whole) {
        add(sample, 0, page_count);
        return 0;
    }
    for (size_t part = 0; part < parts; part++) {
        const size_t first = (size_t)((uint64_t)part * page_count / parts);
        const size_t pages = (size_t)((uint64_t)(part + 1) * page_count / parts) - first;
        const size_t begin = (size_t)(numalab_random_next(random) % pages);
        const size_t over = begin + length > pages ? begin + length - pages : 0;
        add(sample, first, over);
        add(sample, first + begin, length - over);
    }
    return 0;
}

double numalab_sample_unevenness(const struct numalab_sample *sample, size_t array_count,
                                 size_t team, size_t turn)
{
    size_t *pages = calloc(team, sizeof *pages);
    size_t traced = 0, all = 0;
    if (!pages) return 0.0; /* then any draw is as good */
    for (size_t array = 0; array < array_count; array++) {
        if (!all) all = sample[array].page_count;
        for (size_t i = 0; i < sample[array].block_count; i++) {
            const struct numalab_block *block = &sample[array].block[i];
            for (size_t k = block->first_page; k < block->first_page + block->page_count; k++)
                pages[k * all / sample[array].page_count / turn % team]++;
        }
        traced += sample[array].traced_count;
    }
    const size_t rounds = all / (turn * team), rest = all % (turn * team);
    double farthest = 0.0;
    for (size_t thread = 0; traced && thread < team; thread++) {
        const size_t last = rest > thread * turn ? least(rest - thread * turn, turn) : 0;
        const double off = (double)(pages[thread] * team) / (double)traced -
                           (double)((rounds * turn + last) * team) / (double)all;
        if (off > farthest) farthest = off;
        if (-off > farthest) farthest = -off;
    }
    free(pages);
    return farthest;
}

static void free_all(struct numalab_sample *sample, size_t array_count)
{
    for (size_t i = 0; i < array_count; i++) numalab_sample_free(&sample[i]);
}

/* Of each array so many pages. Returns 0 or -ENOMEM, with nothing to free. */
static int draw_once(struct numalab_sample *sample, struct numalab_random *random,
                     const size_t *page_count, const size_t *traced, size_t array_count,
                     size_t team)
{
    for (size_t i = 0; i < array_count; i++) {
        sample[i] = (struct numalab_sample){0};
        if (page_count[i] &&
            numalab_sample_draw(&sample[i], random, page_count[i], traced[i], team) < 0) {
            free_all(sample, i);
            return -ENOMEM;
        }
    }
    return 0;
}

/* Of turns of a page up to a quarter of a share. */
static double most_uneven(const struct numalab_sample *sample, size_t array_count, size_t team)
{
    double most = 0.0;
    const size_t longest = sample[0].page_count / team / 4;
    for (size_t turn = 1; turn <= longest; turn = turn * 5 / 4 > turn ? turn * 5 / 4 : turn + 1) {
        const double off = numalab_sample_unevenness(sample, array_count, team, turn);
        if (off > most) most = off;
    }
    return most;
}

int numalab_sample_draw_all(struct numalab_sample sample[NUMALAB_MAX_ARRAYS],
                            const struct numalab_sampling *sampling,
                            const struct numalab_driver *driver, const size_t *bytes)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), array_count = driver->array_count;
    const size_t fewest =
        least(LEAST_PAGES_PER_SHARE * sampling->team, NUMALAB_MOST_TRACED_PAGES / array_count);
    size_t page_count[NUMALAB_MAX_ARRAYS], traced[NUMALAB_MAX_ARRAYS], all = 0;
    bool is_whole = true;
    for (size_t i = 0; i < array_count; i++) all += page_count[i] = bytes[i] / page_bytes;
    for (size_t i = 0; i < array_count; i++) {
        traced[i] = all ? sampling->traced_pages * page_count[i] / all : 0;
        if (traced[i] < fewest) traced[i] = fewest;
        if (driver->evidence_n) traced[i] = page_count[i];
        is_whole = is_whole && traced[i] >= page_count[i];
    }

    struct numalab_random random = {.seed = sampling->seed}, best = random;
    double best_off = 0.0;
    for (int draw = 0; !is_whole && draw < DRAWS; draw++) {
        const struct numalab_random preceding_pages = random;
        if (draw_once(sample, &random, page_count, traced, array_count, sampling->team) < 0)
            return -ENOMEM;
        const double off = most_uneven(sample, array_count, sampling->team);
        free_all(sample, array_count);
        if (draw == 0 || off < best_off) {
            best = preceding_pages;
            best_off = off;
        }
    }
    return draw_once(sample, &best, page_count, traced, array_count, sampling->team);
}

void numalab_sample_free(struct numalab_sample *sample)
{
    free(sample->block);
    *sample = (struct numalab_sample){0};
}

ptrdiff_t numalab_sample_find(const struct numalab_sample *sample, size_t page)
{
    size_t low = 0, high = sample->block_count; /* in which it may be */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct numalab_block *block = &sample->block[middle];
        if (page < block->first_page)
            high = middle;
        else if (page >= block->first_page + block->page_count)
            low = middle + 1;
        else
            return (ptrdiff_t)(block->preceding_pages + page - block->first_page);
    }
    return -1;
}

void numalab_sample_describe(const struct numalab_sample *sample, json_t *object)
{
    json_t *blocks = json_array();
    for (size_t i = 0; i < sample->block_count; i++)
        json_array_append_new(blocks, json_pack("[II]", (json_int_t)sample->block[i].first_page,
                                                (json_int_t)sample->block[i].page_count));
    json_object_set_new(object, "pages", json_integer((json_int_t)sample->page_count));
    json_object_set_new(object, "blocks", blocks);
}

size_t numalab_sample_page(const struct numalab_sample *sample, size_t place)
{
    size_t low = 0, high = sample->block_count; /* in which it is */
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (place < sample->block[middle].preceding_pages)
            high = middle;
        else
            low = middle;
    }
    return sample->block[low].first_page + place - sample->block[low].preceding_pages;
}
