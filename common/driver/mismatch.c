#include <inttypes.h>
#include <stdio.h>

#include "numalab/driver.h"

struct numalab_mismatch numalab_make_signed_mismatch(size_t array, size_t element, int64_t expected,
                                                     int64_t actual)
{
    struct numalab_mismatch mismatch = {array, element, (double)expected, (double)actual, "", ""};
    snprintf(mismatch.expected_digits, NUMALAB_DIGITS_BYTES, "%" PRId64, expected);
    snprintf(mismatch.actual_digits, NUMALAB_DIGITS_BYTES, "%" PRId64, actual);
    return mismatch;
}

struct numalab_mismatch numalab_make_unsigned_mismatch(size_t array, size_t element,
                                                       uint64_t expected, uint64_t actual)
{
    struct numalab_mismatch mismatch = {array, element, (double)expected, (double)actual, "", ""};
    snprintf(mismatch.expected_digits, NUMALAB_DIGITS_BYTES, "%" PRIu64, expected);
    snprintf(mismatch.actual_digits, NUMALAB_DIGITS_BYTES, "%" PRIu64, actual);
    return mismatch;
}
