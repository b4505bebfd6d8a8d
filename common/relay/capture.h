/* Writes frames to a file that tcpdump and Wireshark read: the classic pcap format, version 2.4,
 * link type Ethernet, in this machine's byte order, times in microseconds. */
#ifndef NUMALAB_RELAY_CAPTURE_H
#define NUMALAB_RELAY_CAPTURE_H

#include <stddef.h>
#include <stdint.h>

/* Writes the header to an empty file. Returns 0 or a negative errno. */
int numalab_capture_begin(int file, size_t most_frame_bytes);

/* Appends a frame; if the process is killed meanwhile, the whole frame or nothing. wall_ns: since
 * 1970. Returns 0 or a negative errno. */
int numalab_capture_frame(int file, int64_t wall_ns, const uint8_t *frame, size_t bytes);

#endif
