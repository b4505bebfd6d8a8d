/* The sample of the arrays' pages that page evidence observes.
 *
 * An array is cut into the team's equal shares, and each share into the same number of parts. Of
 * each part one block of pages is observed, at a random place; a block that reaches the end of its
 * part goes on at its beginning. So each thread's equal share has the same number of observed
 * pages, and each page is as likely as any other. If a team takes pages in turns instead, one
 * thread could have half as many observed pages as another by chance. Of several samples the one is
 * taken in which turns of any length have shares most like those in the whole arrays. */
#ifndef NUMALAB_MONITOR_SAMPLE_H
#define NUMALAB_MONITOR_SAMPLE_H

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "numalab/driver.h"
#include "random.h"

/* What a sample depends on. */
struct numalab_sampling {
    uint64_t seed;       /* of the pages, and of a problem size that is not given */
    size_t traced_pages; /* of all arrays together, about */
    size_t team;         /* number of threads */
};

struct numalab_block {
    size_t first_page, page_count;
    size_t preceding_pages; /* pages in the blocks before it */
};

/* The sample of one array. */
struct numalab_sample {
    size_t page_count;   /* pages of the array */
    size_t traced_count; /* pages of all blocks */
    size_t block_count;
    struct numalab_block *block; /* in ascending order, with a gap between each two */
};

/* Draws a sample of at most `traced` pages, but one for each thread of the team or more; all of
 * page_count pages if these are no more. Returns 0 or -ENOMEM. The caller frees the sample. */
int numalab_sample_draw(struct numalab_sample *sample, struct numalab_random *random,
                        size_t page_count, size_t traced, size_t team);

/* Draws a sample of each of the driver's arrays. bytes: the size of each array. Pages are in
 * proportion to that, but eight or more for each thread, as far as traced_pages.h allows; all pages
 * if the driver has an evidence_n, and none of arrays below a page. Returns 0, after which the
 * caller frees each sample, or -ENOMEM, with nothing to free. */
int numalab_sample_draw_all(struct numalab_sample sample[NUMALAB_MAX_ARRAYS],
                            const struct numalab_sampling *sampling,
                            const struct numalab_driver *driver, const size_t *bytes);

/* Returns the largest difference between a thread's part of the observed pages and its part of all
 * pages, in equal shares, if the team takes turns of so many pages of the first array, and in
 * proportion of the others. 0 without memory. */
double numalab_sample_unevenness(const struct numalab_sample *sample, size_t array_count,
                                 size_t team, size_t turn);

void numalab_sample_free(struct numalab_sample *sample);

/* Returns the index of a page of the array among the observed pages; -1 if it is none. */
ptrdiff_t numalab_sample_find(const struct numalab_sample *sample, size_t page);

/* Returns the page of the array with an index, `place`, among the observed pages; place is below
 * traced_count. */
size_t numalab_sample_page(const struct numalab_sample *sample, size_t place);

/* Adds to a record's object "pages", the number of the array's pages, and "blocks", a list of
 * [first page, pages]. */
void numalab_sample_describe(const struct numalab_sample *sample, json_t *object);

#endif
