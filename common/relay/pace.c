#include "pace.h"

int64_t numalab_pace_send(struct numalab_pace *pace, int64_t came_ns, size_t bytes)
{
    static const uint64_t ns_per_s = 1000 * 1000 * 1000;
    const uint64_t rate = pace->rate_bytes_per_s;
    const int64_t start_ns = came_ns > pace->free_ns ? came_ns : pace->free_ns;
    /* Rounded up, so that no sum of frames is faster than the link. */
    pace->free_ns = start_ns + (int64_t)((bytes * ns_per_s + rate - 1) / rate);
    return pace->free_ns;
}
