/* One direction of a link with a rate: computes when frames have crossed it. */
#ifndef NUMALAB_RELAY_LINK_RATE_H
#define NUMALAB_RELAY_LINK_RATE_H

#include <stddef.h>
#include <stdint.h>

struct numalab_link_rate {
    uint64_t rate_bytes_per_s; /* above 0 */
    int64_t free_ns;           /* when the last frame has crossed it; 0: none yet */
};

/* Sends a frame that arrived at came_ns: it waits for those before it, and then takes the time of
 * its bytes. Returns the time at which it has crossed. Times are of any clock, and not negative. So
 * a link in use carries its rate even if the caller is late, and an idle one saves no bytes for
 * later: it is a token bucket that holds one frame. */
int64_t numalab_link_rate_send(struct numalab_link_rate *link, int64_t came_ns, size_t bytes);

#endif
