/* A message between monitor and worker, with a descriptor. */
#ifndef NUMALAB_SEND_MESSAGE_H
#define NUMALAB_SEND_MESSAGE_H

#include "protocol.h"

/* Sends message, with descriptor beside it unless that is negative. Returns 0 or a negative
 * errno. */
int numalab_send_message(int channel, const struct numalab_message *message, int descriptor);

#endif
