/* Lab 01, a variant, a solution: each array is written in the order in which compute uses it. */
#include "first_touch.h"

#include <omp.h>

void initialize(size_t n, float *restrict a, float *restrict b,
                float *restrict c)
{
    const size_t piece = n / (@deal.pieces@ * (size_t)omp_get_max_threads()) + 1;

    (void)piece;
#pragma omp parallel for @deal.c@
    for (size_t k = 0; k < n; k++) {
        const size_t i = @order.c@;
        const size_t of_b = @b.c@;
        a[i] = 0.0f;
        b[of_b] = (float)(of_b % 7);
        c[@c.c@] = 1.0f;
    }
}
