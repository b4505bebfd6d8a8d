/* Linked in front of a copy of a kernel, by COPY (0 or 1); see kernel_copy.h. What comes next
 * begins behind a multiple of NUMALAB_BASE_BYTES by nothing, or by NUMALAB_SHIFT_BYTES. */
#include "kernel_copy.h"

#define BEFORE_BYTES (NUMALAB_BASE_BYTES + COPY * NUMALAB_SHIFT_BYTES)
#define NAME_OF(copy) numalab_copy_##copy
#define NAME(copy) NAME_OF(copy)

/* Beside one another: sections that are cleared and that are not. */
static _Alignas(NUMALAB_BASE_BYTES) unsigned char before_cleared[BEFORE_BYTES];
static _Alignas(NUMALAB_BASE_BYTES) unsigned char before_set[BEFORE_BYTES] = {NUMALAB_FIRST_SET};

/* Of behind_copy.c, which is linked behind the kernel. */
extern unsigned char numalab_behind_cleared[], numalab_behind_set[];

const struct numalab_kernel_copy NAME(COPY) = {
    .phases = numalab_phases,
    .before_cleared = before_cleared,
    .before_set = before_set,
    .behind_cleared = numalab_behind_cleared,
    .behind_set = numalab_behind_set,
    .before_bytes = BEFORE_BYTES,
};
