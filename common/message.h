/* A message between monitor and worker, with a descriptor beside it or without. */
#ifndef NUMALAB_MESSAGE_H
#define NUMALAB_MESSAGE_H

#include <sys/types.h>

#include "protocol.h"

/* Sends message, with descriptor beside it unless that is negative. Returns 0 or a negative
 * errno. */
int numalab_send_message(int channel, const struct numalab_message *message, int descriptor);

/* Takes a message, with flags as of recvmsg; of the descriptors that came beside it *descriptor
 * gets the first, all others are closed. descriptor: NULL if none is wanted, else left as it is
 * where none came. Returns the bytes that came or a negative errno. */
ssize_t numalab_receive_message(int channel, struct numalab_message *message, int flags,
                                int *descriptor);

#endif
