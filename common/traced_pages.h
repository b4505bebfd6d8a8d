/* A limit that monitor and confine share. */
#ifndef NUMALAB_TRACED_PAGES_H
#define NUMALAB_TRACED_PAGES_H

/* The most pages of all arrays together that are traced. confine derives the largest size of a file
 * from it; that file holds all arrays, traced or not. */
enum { NUMALAB_MOST_TRACED_PAGES = 16384 };

#endif
