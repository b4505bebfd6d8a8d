/* What a rank notes of itself; NULL in workers that are no ranks. */
#ifndef NUMALAB_WORKER_RANK_NOTES_H
#define NUMALAB_WORKER_RANK_NOTES_H

#include "protocol.h"

const struct numalab_rank_notes *numalab_rank_notes(void) __attribute__((weak));

#endif
