#include <inttypes.h>
#include <stdio.h>

#include "numalab/driver.h"

struct numalab_mismatch numalab_mismatch_of_signed(size_t array, size_t element, int64_t expected,
                                                   int64_t found)
{
    struct numalab_mismatch mismatch = {array, element, (double)expected, (double)found, "", ""};
    snprintf(mismatch.expected_digits, NUMALAB_DIGITS_BYTES, "%" PRId64, expected);
    snprintf(mismatch.found_digits, NUMALAB_DIGITS_BYTES, "%" PRId64, found);
    return mismatch;
}

struct numalab_mismatch numalab_mismatch_of_unsigned(size_t array, size_t element,
                                                     uint64_t expected, uint64_t found)
{
    struct numalab_mismatch mismatch = {array, element, (double)expected, (double)found, "", ""};
    snprintf(mismatch.expected_digits, NUMALAB_DIGITS_BYTES, "%" PRIu64, expected);
    snprintf(mismatch.found_digits, NUMALAB_DIGITS_BYTES, "%" PRIu64, found);
    return mismatch;
}
