/* The elements that were changed from outside, for a driver's oracle.
 *
 * An oracle computes what an array should hold from an element's index, except where
 * a driver's change has put something else. For these it keeps entries of a type of
 * its own, whose first member is size_t element, in one of these lists. They lie scattered over
 * the arrays, up to some dozen in a thousand elements: those of a block of elements are linked,
 * and what looks for one goes through its block's. */
#ifndef NUMALAB_CHANGED_H
#define NUMALAB_CHANGED_H

#include <stddef.h>

/* A list. Set entry_bytes and leave the rest zero: it is empty then. Drivers may read the entries,
 * and change in them all but element; the rest only the functions below change. */
struct numalab_changed {
    size_t entry_bytes; /* sizeof the driver's type of entries */
    size_t count;       /* entries in the list, each of another element */
    size_t room;        /* entries that the memory is enough for */
    void *entries;      /* an array of the driver's type; NULL before the first one */
    size_t *earlier;    /* of each entry, the number, from 1 on, of the one before it in its block;
                           0: none */
    size_t block_room; /* blocks of elements, from the first on, that `newest` is long enough for */
    size_t *newest;    /* of each block, the number of its newest entry; 0: it has none */
};

/* Frees the entries and leaves an empty list, which can be used again. */
void numalab_changed_free(struct numalab_changed *changed);

/* Forgets the entries and keeps their memory. */
void numalab_changed_clear(struct numalab_changed *changed);

/* Returns the entry of an element, which is the list's as below, or NULL. */
void *numalab_changed_find(const struct numalab_changed *changed, size_t element);

/* Returns the entry of the element that fresh, an entry of the driver's type, begins with; where
 * there is none adds a copy of fresh, else the rest of fresh is ignored. The entry is the list's,
 * and stays where it is until another is added or all are freed. Returns NULL when there is no
 * memory; the list is then as it was. */
void *numalab_changed_add(struct numalab_changed *changed, const void *fresh);

/* Fills entries with those of count elements from element first on, in no order. entries: has room
 * for count pointers. Returns how many there are. */
size_t numalab_changed_collect(const struct numalab_changed *changed, size_t first, size_t count,
                               const void **entries);

#endif
