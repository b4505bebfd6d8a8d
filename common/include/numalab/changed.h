/* A list of the elements that a driver's change() has set, for the driver's oracle.
 *
 * An oracle computes what an array should hold from an element's index, except where change() has
 * set another value. For these elements it keeps entries of a type of its own, whose first member
 * is size_t element, in such a list. Entries are linked by blocks of 1024 elements, and a search
 * goes through those of one block, which are few: changes are spread over the arrays, up to some
 * dozen in a thousand elements. The functions are not for several threads at once, but for find and
 * collect. */
#ifndef NUMALAB_CHANGED_H
#define NUMALAB_CHANGED_H

#include <stddef.h>

/* A list. Set entry_bytes and leave the rest zero for an empty one, and free it by
 * numalab_changed_free. Drivers may read entries and change all of their members but element; only
 * the functions below change the other fields. */
struct numalab_changed {
    size_t entry_bytes; /* sizeof the driver's type of entries */
    size_t count;       /* entries in the list, each of another element */
    size_t room;        /* entries that there is memory for */
    void *entries;      /* an array of the driver's type; NULL before the first one */
    size_t *earlier;    /* for each entry the number, from 1 on, of the one before it in its block;
                           0: none */
    size_t block_room;  /* length of `newest`, in blocks */
    size_t *newest;     /* for each block the number of its newest entry; 0: none */
};

/* Frees the entries and leaves an empty list, which can be used again. */
void numalab_changed_free(struct numalab_changed *changed);

/* Forgets the entries and keeps their memory. */
void numalab_changed_clear(struct numalab_changed *changed);

/* Returns the entry of an element, or NULL. The entry is the list's, and stays where it is until
 * another one is added or all are freed. */
void *numalab_changed_find(const struct numalab_changed *changed, size_t element);

/* Returns the entry of fresh's element, where fresh is an entry of the driver's type. If the list
 * has none, a copy of fresh is added; else the rest of fresh is ignored. The entry is the list's,
 * as above. Returns NULL without memory; the list then has the same entries as before. */
void *numalab_changed_add(struct numalab_changed *changed, const void *fresh);

/* Fills entries with pointers to those of count elements from element first on, in no order.
 * entries: has room for count pointers. Returns the number of pointers. */
size_t numalab_changed_collect(const struct numalab_changed *changed, size_t first, size_t count,
                               const void **entries);

#endif
