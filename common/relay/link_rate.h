/* One direction of a link of a certain rate: when a frame that comes to it has crossed it. */
#ifndef NUMALAB_RELAY_LINK_RATE_H
#define NUMALAB_RELAY_LINK_RATE_H

#include <stddef.h>
#include <stdint.h>

struct numalab_link_rate {
    uint64_t rate_bytes_per_s; /* more than zero */
    int64_t free_ns;           /* when the last frame has crossed it; 0: none has */
};

/* Sends a frame that came at this time: it waits for those before it, and then takes the time that
 * its bytes take. Returns when it has crossed; times are of any clock, and not negative. So a link
 * that is busy carries its rate, whoever looks late, and an idle one has no bytes to its credit: it
 * is a token bucket that holds one frame. */
int64_t numalab_link_rate_send(struct numalab_link_rate *link, int64_t came_ns, size_t bytes);

#endif
