/* What a rank notes of itself. Workers that are no ranks have no such function. */
#ifndef NUMALAB_WORKER_RANK_NOTES_H
#define NUMALAB_WORKER_RANK_NOTES_H

#include "protocol.h"

const struct numalab_rank_notes *numalab_rank_notes(void);

#endif
