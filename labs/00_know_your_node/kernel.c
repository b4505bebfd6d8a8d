/* Lab 00: know your node. Edit this file; README.md says what to do.
 *
 * triad is right, but one thread does all of it; chase takes one step, however
 * many it is asked for. */
#include "know_your_node.h"

void triad(size_t n, double s, double *restrict a, const double *restrict b,
           const double *restrict c)
{
    for (size_t i = 0; i < n; i++)
        a[i] = b[i] + s * c[i];
}

size_t chase(const size_t *next, size_t start, size_t steps)
{
    return steps > 0 ? next[start] : start;
}
