#include "numalab/changed.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64, BLOCK_ELEMENTS = 1024 };

/* Returns the element that an entry begins with. */
static size_t element_of(const void *entry)
{
    return *(const size_t *)entry;
}

/* Returns the entry of a number, from 1 on. */
static void *entry_of(const struct numalab_changed *changed, size_t number)
{
    return (unsigned char *)changed->entries + (number - 1) * changed->entry_bytes;
}

/* Returns the number of a block's newest entry, or 0. */
static size_t newest_of(const struct numalab_changed *changed, size_t block)
{
    return block < changed->block_room ? changed->newest[block] : 0;
}

void numalab_changed_free(struct numalab_changed *changed)
{
    free(changed->entries);
    free(changed->earlier);
    free(changed->newest);
    *changed = (struct numalab_changed){.entry_bytes = changed->entry_bytes};
}

void numalab_changed_clear(struct numalab_changed *changed)
{
    changed->count = 0;
    if (changed->newest) memset(changed->newest, 0, changed->block_room * sizeof *changed->newest);
}

void *numalab_changed_find(const struct numalab_changed *changed, size_t element)
{
    size_t number = newest_of(changed, element / BLOCK_ELEMENTS);
    for (; number; number = changed->earlier[number - 1]) {
        void *entry = entry_of(changed, number);
        if (element_of(entry) == element) return entry;
    }
    return NULL;
}

/* Makes room for one more entry. Returns false without memory. */
static bool grow(struct numalab_changed *changed)
{
    if (changed->count < changed->room) return true;
    const size_t room = changed->room ? 2 * changed->room : FIRST_ROOM;
    if (room > SIZE_MAX / changed->entry_bytes) return false;
    void *entries = realloc(changed->entries, room * changed->entry_bytes);
    if (!entries) return false;
    changed->entries = entries;
    size_t *earlier = realloc(changed->earlier, room * sizeof *earlier);
    if (!earlier) return false;
    changed->earlier = earlier;
    changed->room = room;
    return true;
}

/* Makes `newest` long enough for a block. Returns false without memory. */
static bool reach_block(struct numalab_changed *changed, size_t block)
{
    if (block < changed->block_room) return true;
    const size_t room = block + block / 2 + 1;
    size_t *newest = realloc(changed->newest, room * sizeof *newest);
    if (!newest) return false;
    memset(newest + changed->block_room, 0, (room - changed->block_room) * sizeof *newest);
    changed->newest = newest;
    changed->block_room = room;
    return true;
}

void *numalab_changed_add(struct numalab_changed *changed, const void *fresh)
{
    const size_t block = element_of(fresh) / BLOCK_ELEMENTS;
    void *entry = numalab_changed_find(changed, element_of(fresh));
    if (entry) return entry;
    if (!grow(changed) || !reach_block(changed, block)) return NULL;
    changed->earlier[changed->count] = changed->newest[block];
    changed->newest[block] = ++changed->count;
    return memcpy(entry_of(changed, changed->count), fresh, changed->entry_bytes);
}

size_t numalab_changed_collect(const struct numalab_changed *changed, size_t first, size_t count,
                               const void **entries)
{
    size_t collected = 0;
    if (count == 0) return 0;
    for (size_t block = first / BLOCK_ELEMENTS; block <= (first + count - 1) / BLOCK_ELEMENTS;
         block++)
        for (size_t number = newest_of(changed, block); number;
             number = changed->earlier[number - 1]) {
            const void *entry = entry_of(changed, number);
            if (element_of(entry) - first < count)
                entries[collected++] = entry; /* the difference wraps around if it is before */
        }
    return collected;
}
