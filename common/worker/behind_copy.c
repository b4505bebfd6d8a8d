/* Linked behind a copy of a kernel; see kernel_copy.h. */
#include "kernel_copy.h"

extern unsigned char numalab_behind_cleared[], numalab_behind_set[];
unsigned char numalab_behind_cleared[NUMALAB_BEHIND_CLEARED];
unsigned char numalab_behind_set[NUMALAB_BEHIND_SET] = {NUMALAB_FIRST_SET};
