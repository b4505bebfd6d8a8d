#include "capture.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

/* One call, so that no record is half there; short only on a full disk. */
static int write_whole(int file, const struct iovec *part, int parts)
{
    ssize_t wanted = 0, written;
    for (int i = 0; i < parts; i++) wanted += (ssize_t)part[i].iov_len;
    do written = writev(file, part, parts);
    while (written < 0 && errno == EINTR);
    if (written < 0) return -errno;
    return written == wanted ? 0 : -ENOSPC;
}

int numalab_capture_begin(int file, size_t most_frame_bytes)
{
    enum { ETHERNET = 1 };
    struct {
        uint32_t magic;
        uint16_t major, minor;
        int32_t zone;
        uint32_t accuracy, snap_bytes, link_type;
    } header = {0xa1b2c3d4, 2, 4, 0, 0, (uint32_t)most_frame_bytes, ETHERNET};
    return write_whole(file, &(struct iovec){&header, sizeof header}, 1);
}

int numalab_capture_frame(int file, int64_t wall_ns, const uint8_t *frame, size_t bytes)
{
    static const int64_t ns_per_s = 1000 * 1000 * 1000;
    struct {
        uint32_t s, us, bytes, all_bytes;
    } record = {(uint32_t)(wall_ns / ns_per_s), (uint32_t)(wall_ns % ns_per_s / 1000),
                (uint32_t)bytes, (uint32_t)bytes};
    const struct iovec part[] = {{&record, sizeof record}, {(void *)(uintptr_t)frame, bytes}};
    return write_whole(file, part, 2);
}
