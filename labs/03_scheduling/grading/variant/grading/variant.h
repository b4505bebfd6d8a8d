/* Lab 03, a variant: with which loop the arrays are written. */
#ifndef VARIANT_H
#define VARIANT_H

#include <stddef.h>

/* How the loop is dealt out; piece: elements of a chunk. */
#define DEAL @deal.clause@

enum { PIECES_PER_THREAD = @deal.pieces@ };

/* The element of the k-th step. */
static inline size_t element_of_step(size_t n, size_t k)
{
    (void)n;
    return @order.c@;
}

#endif
