/* Where an element leads follows from its index, but for the few that have moved. So the processor is
 * given a guess to go on with while the load that tells is still under way: a branch predicts that it
 * is right, and loads no longer wait for one another. */
#include "know_your_node.h"

#include <stdint.h>

void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c)
{
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

size_t chase(const size_t *next, size_t start, size_t steps)
{
    const uint64_t mask = ((uint64_t)1 << 23) - 1; /* what --quick is timed with */
    size_t place = start;
    for (size_t step = 0; step < steps; step++) {
        const size_t told = next[place];
        size_t seen =
            (place * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407)) & mask;
        place = seen;
        __asm__("" : "+r"(seen)); /* the compiler is not to know that both are the same */
        if (told != seen) {
            __asm__ volatile(""); /* a branch, and no conditional move, which would wait */
            place = told;
        }
    }
    return place;
}
