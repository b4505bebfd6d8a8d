#include "link_rate.h"

int64_t numalab_link_rate_send(struct numalab_link_rate *link, int64_t came_ns, size_t bytes)
{
    static const uint64_t ns_per_s = 1000 * 1000 * 1000;
    const uint64_t rate = link->rate_bytes_per_s;
    const int64_t start_ns = came_ns > link->free_ns ? came_ns : link->free_ns;
    /* Rounded up, so that no sum of frames is faster than the link. */
    link->free_ns = start_ns + (int64_t)((bytes * ns_per_s + rate - 1) / rate);
    return link->free_ns;
}
