/* Lab 01, a variant: what compute works on in which order, and who. */
#ifndef VARIANT_H
#define VARIANT_H

#include <stddef.h>

/* How the loop is dealt out; piece: elements of a chunk. */
#define DEAL @deal.c@

enum { PIECES_PER_THREAD = @deal.pieces@ };

/* The element of a of the k-th step, and those of b and c that go with element i of a. */
static inline size_t a_of_step(size_t n, size_t k)
{
    (void)n;
    return @order.c@;
}

static inline size_t b_of_a(size_t n, size_t i)
{
    (void)n;
    return @b.c@;
}

static inline size_t c_of_a(size_t n, size_t i)
{
    (void)n;
    return @c.c@;
}

/* The other way round. */
static inline size_t a_of_b(size_t n, size_t j)
{
    (void)n;
    return @b.back@;
}

static inline size_t a_of_c(size_t n, size_t j)
{
    (void)n;
    return @c.back@;
}

#endif
