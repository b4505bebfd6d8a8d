/* Which pages of the arrays page evidence looks at, where it does not look at all of them.
 *
 * An array is cut into the team's equal shares, each of them into as many parts, and of each part
 * one block of pages is looked at, anywhere in it; one that reaches the end of its part goes on at
 * its beginning. So every thread's equal share has the same number of them, and each page is as
 * likely as any other. Where pages are dealt out in turns instead, a thread would have half as many
 * as another by chance; so that of several draws is taken in which turns of whatever length come
 * out as they are in the whole arrays. */
#ifndef NUMALAB_MONITOR_SAMPLE_H
#define NUMALAB_MONITOR_SAMPLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "numalab/driver.h"
#include "random.h"

/* What decides it. */
struct numalab_sampling {
    uint64_t seed;       /* n and the pages follow from it */
    size_t traced_pages; /* of all arrays together, about */
    size_t team;
};

struct numalab_block {
    size_t first_page, page_count;
    size_t preceding_pages; /* pages in the blocks before it */
};

/* Of one array; blocks in order, with a gap between each two. */
struct numalab_sample {
    size_t page_count; /* of the array */
    size_t traced_count;
    size_t block_count;
    struct numalab_block *block;
};

/* traced: how many of page_count pages in all, at most; all of them where that is as many, and at
 * least one for each of the team. Returns 0 or -ENOMEM. The caller frees it. */
int numalab_sample_draw(struct numalab_sample *sample, struct numalab_random *random,
                        size_t page_count, size_t traced, size_t team);

/* Of each of the driver's arrays, of so many bytes, in proportion to its size, but at least eight
 * pages for each of the team, as far as traced_pages.h allows; all where the driver names the
 * problem size, since it then has as many pages as it wants. Arrays below a page have no blocks.
 * Returns 0 or -ENOMEM, with nothing to free. */
int numalab_sample_draw_all(struct numalab_sample sample[NUMALAB_MAX_ARRAYS],
                            const struct numalab_sampling *sampling,
                            const struct numalab_driver *driver, const size_t *bytes);

/* How far a thread's part of the pages that are looked at is off its part of all pages, the
 * farthest, in equal shares, where the team deals pages out in turns of so many of the first
 * array's, and as far on in the others. */
double numalab_sample_unevenness(const struct numalab_sample *sample, size_t array_count,
                                 size_t team, size_t turn);

void numalab_sample_free(struct numalab_sample *sample);

/* The place of a page among those that are looked at, or -1. */
ptrdiff_t numalab_sample_find(const struct numalab_sample *sample, size_t page);

/* The page of a place, which is below traced_count. */
size_t numalab_sample_page(const struct numalab_sample *sample, size_t place);

/* What a record says: "pages", those of the array, and "blocks", [first page, pages] in order.
 * Adds them to the object. */
void numalab_sample_describe(const struct numalab_sample *sample, json_t *object);

#endif
