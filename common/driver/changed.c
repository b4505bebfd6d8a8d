#include "numalab/changed.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

/* Every entry begins with it. */
static size_t element_of(const void *entry)
{
    return *(const size_t *)entry;
}

void numalab_changed_free(struct numalab_changed *changed)
{
    free(changed->entries);
    *changed = (struct numalab_changed){.entry_bytes = changed->entry_bytes};
}

void numalab_changed_clear(struct numalab_changed *changed)
{
    changed->count = 0;
}

void *numalab_changed_find(const struct numalab_changed *changed, size_t element)
{
    unsigned char *entry = changed->entries;
    for (size_t i = 0; i < changed->count; i++, entry += changed->entry_bytes)
        if (element_of(entry) == element) return entry;
    return NULL;
}

void *numalab_changed_entry(struct numalab_changed *changed, const void *fresh)
{
    void *entry = numalab_changed_find(changed, element_of(fresh));
    if (entry) return entry;
    if (changed->count == changed->room) {
        const size_t room = changed->room ? 2 * changed->room : FIRST_ROOM;
        if (room > SIZE_MAX / changed->entry_bytes) return NULL;
        void *entries = realloc(changed->entries, room * changed->entry_bytes);
        if (!entries) return NULL;
        changed->entries = entries;
        changed->room = room;
    }
    entry = (unsigned char *)changed->entries + changed->count++ * changed->entry_bytes;
    return memcpy(entry, fresh, changed->entry_bytes);
}

bool numalab_changed_within(const struct numalab_changed *changed, size_t first, size_t count,
                            const void **here)
{
    const unsigned char *entry = changed->entries;
    bool has_any = false;
    for (size_t i = 0; i < changed->count; i++, entry += changed->entry_bytes) {
        const size_t place = element_of(entry) - first; /* huge if before */
        if (place >= count) continue;
        if (!has_any) memset(here, 0, count * sizeof *here);
        has_any = true;
        here[place] = entry;
    }
    return has_any;
}
