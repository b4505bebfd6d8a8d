/* What monitor and confine both keep to. */
#ifndef NUMALAB_TRACED_PAGES_H
#define NUMALAB_TRACED_PAGES_H

/* Pages of all arrays together that are traced at most; confine sizes the largest file by it, which
 * holds all arrays, traced or not. */
enum { NUMALAB_MOST_TRACED_PAGES = 16384 };

#endif
