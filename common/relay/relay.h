/* A switch for the network cards of two to four virtual machines (nodes), and links with a rate
 * between them and it.
 *
 * Wire format: a port is a connected datagram socket, one Ethernet frame per datagram, from the
 * destination's address to the payload's end, without preamble and check sum. Nothing is added or
 * changed; these bytes are counted, and take time.
 *
 * A frame crosses its sender's link as a whole, then waits for the other node's link and crosses
 * that (store and forward). Nothing is lost: if a node does not take its frames, or gets more than
 * its link carries, the senders have to wait, as on links with flow control. So a node that is
 * stopped stops those that send to it.
 *
 * Limits: frames of MOST_FRAME_BYTES, and QUEUE_FRAMES that wait for a link. Larger frames, what is
 * no frame, and frames for no node of the switch are dropped and counted. */
#ifndef NUMALAB_RELAY_RELAY_H
#define NUMALAB_RELAY_RELAY_H

#include <poll.h>
#include <stdint.h>
#include <stdio.h>

enum {
    NUMALAB_RELAY_LEAST_PORTS = 2,
    NUMALAB_RELAY_MOST_PORTS = 4,
    NUMALAB_RELAY_MOST_FRAME_BYTES = 16 * 1024,
    NUMALAB_RELAY_QUEUE_FRAMES = 64,
    NUMALAB_RELAY_WINDOW_MS = 100, /* of the peak rate */
};

/* What crossed one direction of a link. */
struct numalab_traffic {
    uint64_t frames, bytes;
    uint64_t tcp_frames, tcp_payload_bytes; /* frames with a TCP payload, and its bytes */
    uint64_t largest_frame_bytes;
    uint64_t most_bytes_in_window; /* the most in any window of WINDOW_MS */
    uint64_t window_bytes;         /* in the last window so far */
    int64_t window;                /* the number of the last window */
};

struct numalab_relay_port {
    int fd;
    int capture; /* a file for all frames of this link, sent and received; -1: none */
};

struct numalab_relay;

/* Makes a relay for ports, whose descriptors stay the caller's. wall_ns: what is to be added to the
 * times of numalab_relay_step to get those since 1970. Returns 0, or a negative errno: -EINVAL for
 * an impossible number of ports or rate. In either case numalab_relay_close frees *relay. */
int numalab_relay_open(struct numalab_relay **relay, const struct numalab_relay_port *port,
                       unsigned ports, uint64_t rate_bytes_per_s, int64_t wall_ns);
void numalab_relay_close(struct numalab_relay *relay);

/* Does all that is due at now_ns, by a monotonic clock. Returns the time at which something will be
 * due by itself, INT64_MAX for never; sockets may become ready before that. */
int64_t numalab_relay_step(struct numalab_relay *relay, int64_t now_ns);

/* Fills polled, an entry per port, with what to wait for. */
void numalab_relay_poll(const struct numalab_relay *relay, struct pollfd *polled);

/* Return what a port's node has sent and received; the relay owns it. */
const struct numalab_traffic *numalab_relay_sent(const struct numalab_relay *relay, unsigned port);
const struct numalab_traffic *numalab_relay_received(const struct numalab_relay *relay,
                                                     unsigned port);

/* Prints one line of JSON:
 *
 *   {"quiet_ms": N, "waiting_frames": N, "capture_errno": N, "nodes": [{"dropped_frames": N,
 *    "sent": TRAFFIC, "received": TRAFFIC}, ...]}
 *
 * quiet_ms: milliseconds since a frame crossed a link, or since the start; waiting_frames: frames
 * under way; capture_errno: 0, or why no more is captured; TRAFFIC has frames, bytes, tcp_frames,
 * tcp_payload_bytes, largest_frame_bytes and most_bytes_in_100_ms. Returns 0 or a negative errno.
 */
int numalab_relay_print(const struct numalab_relay *relay, FILE *file, int64_t now_ns);

#endif
