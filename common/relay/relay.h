/* A switch for the network cards of two to four virtual nodes, and links of a certain rate between
 * them and it.
 *
 * Wire format: a port is a connected datagram socket, one Ethernet frame per datagram, from the
 * destination's address to the payload's end: no preamble, no check sum. Nothing is added and
 * nothing changed; the bytes that are counted and that take time are these.
 *
 * A frame crosses the link of who sent it, whole, then waits for the other node's link and crosses
 * that (store and forward). Nothing is lost: where a node does not take what it is sent, or more
 * comes for it than its link carries, the senders are held back, as on links with flow control. So
 * a node that stands still holds up those that send to it.
 *
 * Limits: frames of MOST_FRAME_BYTES, QUEUE_FRAMES that wait for a link; what is no frame, larger,
 * or for no node here is dropped and counted as such. */
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
    uint64_t tcp_frames, tcp_payload_bytes; /* frames that carry a payload, and that */
    uint64_t largest_frame_bytes;
    uint64_t most_bytes_in_window; /* of all windows of WINDOW_MS */
    uint64_t window_bytes;
    int64_t window; /* the number of the last one */
};

struct numalab_relay_port {
    int fd;
    int capture; /* a file for all frames of this link, sent and received; -1: none */
};

struct numalab_relay;

/* Takes the ports, which stay the caller's. wall_ns: what is to be added to the times of
 * numalab_relay_step to get those since 1970. Returns 0 or a negative errno (-EINVAL: a number of
 * ports or a rate that can't be); *relay is to be given to numalab_relay_close. */
int numalab_relay_open(struct numalab_relay **relay, const struct numalab_relay_port *port,
                       unsigned ports, uint64_t rate_bytes_per_s, int64_t wall_ns);
void numalab_relay_close(struct numalab_relay *relay);

/* Does all that is due at this time, of a clock that goes on. Returns when something will be due by
 * itself, INT64_MAX where nothing will; before that sockets may become ready. */
int64_t numalab_relay_step(struct numalab_relay *relay, int64_t now_ns);

/* What to wait for, one entry per port. */
void numalab_relay_poll(const struct numalab_relay *relay, struct pollfd *polled);

const struct numalab_traffic *numalab_relay_sent(const struct numalab_relay *relay, unsigned port);
const struct numalab_traffic *numalab_relay_received(const struct numalab_relay *relay,
                                                     unsigned port);

/* Prints one line of JSON:
 *
 *   {"quiet_ms": N, "waiting_frames": N, "capture_errno": N, "nodes": [{"dropped_frames": N,
 *    "sent": TRAFFIC, "received": TRAFFIC}, ...]}
 *
 * quiet_ms: since a frame has crossed a link, or since the start; waiting_frames: that are under
 * way; capture_errno: 0, or why nothing more is captured; TRAFFIC has frames, bytes, tcp_frames,
 * tcp_payload_bytes, largest_frame_bytes and most_bytes_in_100_ms. Returns 0 or a negative errno.
 */
int numalab_relay_print(const struct numalab_relay *relay, FILE *file, int64_t now_ns);

#endif
