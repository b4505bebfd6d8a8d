/* Linked in front of a copy of a kernel, by COPY (0 or 1); see kernel_copy.h. What comes next
 * begins behind a multiple of NUMALAB_BASE_BYTES by nothing, or by NUMALAB_SHIFT_BYTES. */
#include "kernel_copy.h"

#define LEADING_BYTES (NUMALAB_BASE_BYTES + COPY * NUMALAB_SHIFT_BYTES)
#define NAME_OF(copy) numalab_copy_##copy
#define NAME(copy) NAME_OF(copy)

/* Beside one another: sections that are cleared and that are not. */
static _Alignas(NUMALAB_BASE_BYTES) unsigned char leading_cleared[LEADING_BYTES];
static _Alignas(NUMALAB_BASE_BYTES) unsigned char leading_set[LEADING_BYTES] = {NUMALAB_FIRST_SET};

/* Of trailing_copy.c, which is linked behind the kernel. */
extern unsigned char numalab_trailing_cleared[], numalab_trailing_set[];

const struct numalab_kernel_copy NAME(COPY) = {
    .phases = numalab_phases,
    .leading_cleared = leading_cleared,
    .leading_set = leading_set,
    .trailing_cleared = numalab_trailing_cleared,
    .trailing_set = numalab_trailing_set,
    .leading_bytes = LEADING_BYTES,
};
