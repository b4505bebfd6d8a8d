/* Linked behind a copy of a kernel; see kernel_copy.h. */
#include "kernel_copy.h"

extern unsigned char numalab_trailing_cleared[], numalab_trailing_set[];
unsigned char numalab_trailing_cleared[NUMALAB_TRAILING_CLEARED];
unsigned char numalab_trailing_set[NUMALAB_TRAILING_SET] = {NUMALAB_FIRST_SET};
