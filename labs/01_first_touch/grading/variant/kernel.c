/* Lab 01, a variant: first touch. Edit this file; README.md says what to do.
 *
 * The results are right, but the data is in the wrong place for the kit's compute. */
#include "first_touch.h"

void initialize(size_t n, float *restrict a, float *restrict b, float *restrict c)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}
