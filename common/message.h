/* Sends and receives messages between monitor and worker, with a descriptor or without. */
#ifndef NUMALAB_MESSAGE_H
#define NUMALAB_MESSAGE_H

#include <sys/types.h>

#include "protocol.h"

/* Sends message, and descriptor with it unless that is negative. Returns 0 or a negative errno. */
int numalab_send_message(int channel, const struct numalab_message *message, int descriptor);

/* Receives a message, with recvmsg's flags. *descriptor is set to the first descriptor that came
 * with it, which the caller closes, and left as it is if none came; all others are closed.
 * descriptor: NULL if none is expected. Returns the bytes that came or a negative errno. */
ssize_t numalab_receive_message(int channel, struct numalab_message *message, int flags,
                                int *descriptor);

#endif
