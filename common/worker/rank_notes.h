/* What a rank notes of itself, and what it is told. Workers that are no ranks have no such
 * functions. */
#ifndef NUMALAB_WORKER_RANK_NOTES_H
#define NUMALAB_WORKER_RANK_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

const struct numalab_rank_notes *numalab_rank_notes(void);

/* modes: of enum numalab_mode, those of the request that is to be served. */
void numalab_rank_set_modes(uint32_t modes);
bool numalab_rank_yields(void);

#endif
