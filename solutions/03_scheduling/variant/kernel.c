/* Lab 03, a variant, a solution: the loop goes as the kit's, which has written the arrays. */
#include "scheduling.h"

#include <omp.h>

void stream_update(size_t n, double *restrict a, const double *restrict b,
                   const double *restrict c)
{
    const size_t piece = n / (@deal.pieces@ * (size_t)omp_get_max_threads()) + 1;

    (void)piece;
#pragma omp parallel for @deal.clause@
    for (size_t k = 0; k < n; k++) {
        const size_t i = @order.c@;
        a[i] = b[i] + 3.0 * c[i];
    }
}
