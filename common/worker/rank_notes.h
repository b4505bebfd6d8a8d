/* A rank's notes on itself, and its modes. Programs of workers that are no ranks do not have these
 * functions. */
#ifndef NUMALAB_WORKER_RANK_NOTES_H
#define NUMALAB_WORKER_RANK_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "protocol.h"

/* Returns the notes, which last as long as the process. */
const struct numalab_rank_notes *numalab_rank_notes(void);

/* Sets the modes (enum numalab_mode) of the request that is served next. */
void numalab_rank_set_modes(uint32_t modes);

/* Returns whether NUMALAB_YIELDS is set. */
bool numalab_rank_yields(void);

#endif
