#include "relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "capture.h"
#include "frame.h"
#include "link_rate.h"

/* What was there before the relay looked again counts from then, up to this long ago: a busy host
 * wakes it late, and a link that has something to carry is not idle meanwhile. */
static const int64_t most_late_ns = 5 * 1000 * 1000;
static const int64_t ns_per_ms = 1000 * 1000;

struct frame {
    size_t bytes; /* 0: there is none */
    int64_t came_ns, crossed_ns;
    unsigned targets; /* ports, as bits */
    uint8_t data[NUMALAB_RELAY_MOST_FRAME_BYTES];
};

/* Frames for a node, in the order in which they came to the switch. crossed_ns of the first is set
 * once it is on the link (is_sending). */
struct queue {
    struct frame frame[NUMALAB_RELAY_QUEUE_FRAMES];
    unsigned first, count;
    bool is_sending, is_blocked;
};

struct port {
    int fd, capture;
    bool is_idle;      /* there was nothing to read the last time */
    bool is_blocked;   /* a frame has come, and finds no room */
    struct frame held; /* on its way to the switch */
    struct queue queue;
    struct numalab_link_rate up, down;
    struct numalab_traffic sent, received;
    uint64_t dropped_frames;
};

struct numalab_relay {
    unsigned ports;
    unsigned turn;            /* whose frame is next where several wait for room */
    int64_t wall_ns, last_ns; /* last_ns: when a frame crossed a link; -1: not yet known */
    int capture_errno;
    struct port port[];
};

int numalab_relay_open(struct numalab_relay **relay, const struct numalab_relay_port *port,
                       unsigned ports, uint64_t rate_bytes_per_s, int64_t wall_ns)
{
    *relay = NULL;
    if (ports < NUMALAB_RELAY_LEAST_PORTS || ports > NUMALAB_RELAY_MOST_PORTS ||
        rate_bytes_per_s == 0)
        return -EINVAL;
    struct numalab_relay *fresh = calloc(1, sizeof *fresh + ports * sizeof fresh->port[0]);
    if (!fresh) return -ENOMEM;
    fresh->ports = ports;
    fresh->wall_ns = wall_ns;
    fresh->last_ns = -1;
    int error = 0;
    for (unsigned i = 0; i < ports; i++) {
        struct port *one = &fresh->port[i];
        one->fd = port[i].fd;
        one->capture = port[i].capture;
        one->is_idle = true;
        one->up.rate_bytes_per_s = one->down.rate_bytes_per_s = rate_bytes_per_s;
        if (one->capture >= 0 && error == 0)
            error = numalab_capture_begin(one->capture, NUMALAB_RELAY_MOST_FRAME_BYTES);
    }
    *relay = fresh;
    return error;
}

void numalab_relay_close(struct numalab_relay *relay)
{
    free(relay);
}

/* ---- what has crossed a link ----------------------------------------------------------- */

static void count(struct numalab_traffic *traffic, const struct frame *frame)
{
    const int64_t window = frame->crossed_ns / (NUMALAB_RELAY_WINDOW_MS * ns_per_ms);
    const size_t payload = numalab_frame_tcp_payload(frame->data, frame->bytes);
    traffic->frames++;
    traffic->bytes += frame->bytes;
    traffic->tcp_frames += payload > 0;
    traffic->tcp_payload_bytes += payload;
    if (frame->bytes > traffic->largest_frame_bytes) traffic->largest_frame_bytes = frame->bytes;
    if (window != traffic->window) traffic->window_bytes = 0;
    traffic->window = window;
    traffic->window_bytes += frame->bytes;
    if (traffic->window_bytes > traffic->most_bytes_in_window)
        traffic->most_bytes_in_window = traffic->window_bytes;
}

static void note(struct numalab_relay *relay, const struct port *port,
                 struct numalab_traffic *traffic, const struct frame *frame, int64_t now_ns)
{
    count(traffic, frame);
    relay->last_ns = now_ns;
    if (port->capture < 0 || relay->capture_errno != 0) return;
    const int error = numalab_capture_frame(port->capture, frame->crossed_ns + relay->wall_ns,
                                            frame->data, frame->bytes);
    if (error < 0) relay->capture_errno = -error;
}

/* ---- from a node to the switch --------------------------------------------------------- */

/* Reads the next frame that can go somewhere. Returns whether there is one. */
static bool read_frame(struct numalab_relay *relay, unsigned number, int64_t now_ns)
{
    struct port *port = &relay->port[number];
    struct frame *held = &port->held;
    for (;;) {
        const ssize_t got = recv(port->fd, held->data, sizeof held->data, MSG_DONTWAIT | MSG_TRUNC);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) {
            port->is_idle = true;
            return false;
        }
        held->bytes = (size_t)got;
        held->targets = held->bytes > sizeof held->data
                            ? 0
                            : numalab_frame_ports(held->data, held->bytes, number, relay->ports);
        if (held->targets != 0) break;
        held->bytes = 0;
        port->dropped_frames++;
    }
    held->came_ns = now_ns;
    if (!port->is_idle) {
        const int64_t earliest_ns = now_ns - most_late_ns;
        held->came_ns = port->up.free_ns > earliest_ns ? port->up.free_ns : earliest_ns;
    }
    port->is_idle = false;
    held->crossed_ns = numalab_link_rate_send(&port->up, held->came_ns, held->bytes);
    return true;
}

static bool has_room(const struct numalab_relay *relay, unsigned targets)
{
    for (unsigned i = 0; i < relay->ports; i++)
        if (targets & 1u << i && relay->port[i].queue.count == NUMALAB_RELAY_QUEUE_FRAMES)
            return false;
    return true;
}

static void append(struct queue *queue, const struct frame *frame)
{
    struct frame *targets =
        &queue->frame[(queue->first + queue->count) % NUMALAB_RELAY_QUEUE_FRAMES];
    targets->bytes = frame->bytes;
    targets->came_ns = frame->crossed_ns;
    memcpy(targets->data, frame->data, frame->bytes);
    queue->count++;
}

/* Returns whether a frame has come to the switch. */
static bool take(struct numalab_relay *relay, unsigned number, int64_t now_ns)
{
    struct port *port = &relay->port[number];
    struct frame *held = &port->held;
    if (held->bytes == 0 && !read_frame(relay, number, now_ns)) return false;
    if (held->crossed_ns > now_ns) return false;
    if (!has_room(relay, held->targets)) {
        port->is_blocked = true;
        return false;
    }
    if (port->is_blocked) {
        port->is_blocked = false;
        held->crossed_ns = port->up.free_ns = now_ns;
    }
    note(relay, port, &port->sent, held, now_ns);
    for (unsigned i = 0; i < relay->ports; i++)
        if (held->targets & 1u << i) append(&relay->port[i].queue, held);
    held->bytes = 0;
    return true;
}

/* ---- from the switch to a node --------------------------------------------------------- */

/* Returns whether a frame has left. */
static bool give(struct numalab_relay *relay, unsigned number, int64_t now_ns)
{
    struct port *port = &relay->port[number];
    struct queue *queue = &port->queue;
    struct frame *frame = &queue->frame[queue->first];
    if (queue->count == 0) return false;
    if (!queue->is_sending) {
        frame->crossed_ns = numalab_link_rate_send(&port->down, frame->came_ns, frame->bytes);
        queue->is_sending = true;
    }
    if (frame->crossed_ns > now_ns) return false;
    ssize_t given;
    do given = send(port->fd, frame->data, frame->bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (given < 0 && errno == EINTR);
    if (given < 0 && (errno == EAGAIN || errno == ENOBUFS)) {
        queue->is_blocked = true;
        return false;
    }
    if (queue->is_blocked) {
        queue->is_blocked = false;
        frame->crossed_ns = port->down.free_ns = now_ns;
    }
    if (given >= 0) note(relay, port, &port->received, frame, now_ns); /* else the node has ended */
    queue->is_sending = false;
    queue->first = (queue->first + 1) % NUMALAB_RELAY_QUEUE_FRAMES;
    queue->count--;
    return true;
}

/* ---- the whole ------------------------------------------------------------------------- */

int64_t numalab_relay_step(struct numalab_relay *relay, int64_t now_ns)
{
    if (relay->last_ns < 0) relay->last_ns = now_ns;
    for (bool goes_on = true; goes_on;) {
        const unsigned first = relay->turn;
        goes_on = false;
        for (unsigned i = 0; i < relay->ports; i++)
            if (give(relay, i, now_ns)) goes_on = true;
        for (unsigned i = 0; i < relay->ports; i++) {
            const unsigned number = (first + i) % relay->ports;
            if (!take(relay, number, now_ns)) continue;
            relay->turn = (number + 1) % relay->ports;
            goes_on = true;
        }
    }
    int64_t next_ns = INT64_MAX;
    for (unsigned i = 0; i < relay->ports; i++) {
        const struct port *port = &relay->port[i];
        const struct queue *queue = &port->queue;
        if (port->held.bytes > 0 && !port->is_blocked && port->held.crossed_ns < next_ns)
            next_ns = port->held.crossed_ns;
        if (queue->is_sending && !queue->is_blocked &&
            queue->frame[queue->first].crossed_ns < next_ns)
            next_ns = queue->frame[queue->first].crossed_ns;
    }
    return next_ns;
}

void numalab_relay_poll(const struct numalab_relay *relay, struct pollfd *polled)
{
    for (unsigned i = 0; i < relay->ports; i++) {
        const struct port *port = &relay->port[i];
        const int wanted =
            (port->held.bytes == 0 ? POLLIN : 0) | (port->queue.is_blocked ? POLLOUT : 0);
        polled[i] = (struct pollfd){.fd = wanted ? port->fd : -1, .events = (short)wanted};
    }
}

const struct numalab_traffic *numalab_relay_sent(const struct numalab_relay *relay, unsigned port)
{
    return &relay->port[port].sent;
}

const struct numalab_traffic *numalab_relay_received(const struct numalab_relay *relay,
                                                     unsigned port)
{
    return &relay->port[port].received;
}

static void print_traffic(const char *name, const struct numalab_traffic *traffic, FILE *file)
{
    fprintf(file,
            "\"%s\": {\"frames\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"tcp_frames\": %" PRIu64
            ", \"tcp_payload_bytes\": %" PRIu64 ", \"largest_frame_bytes\": %" PRIu64
            ", \"most_bytes_in_%d_ms\": %" PRIu64 "}",
            name, traffic->frames, traffic->bytes, traffic->tcp_frames, traffic->tcp_payload_bytes,
            traffic->largest_frame_bytes, (int)NUMALAB_RELAY_WINDOW_MS,
            traffic->most_bytes_in_window);
}

int numalab_relay_print(const struct numalab_relay *relay, FILE *file, int64_t now_ns)
{
    unsigned waiting = 0;
    for (unsigned i = 0; i < relay->ports; i++)
        waiting += relay->port[i].queue.count + (relay->port[i].held.bytes > 0);
    const int64_t quiet_ns = relay->last_ns < 0 ? 0 : now_ns - relay->last_ns;
    fprintf(file,
            "{\"quiet_ms\": %" PRId64 ", \"waiting_frames\": %u, \"capture_errno\": %d, "
            "\"nodes\": [",
            quiet_ns / ns_per_ms, waiting, relay->capture_errno);
    for (unsigned i = 0; i < relay->ports; i++) {
        const struct port *port = &relay->port[i];
        fprintf(file, "%s{\"dropped_frames\": %" PRIu64 ", ", i ? ", " : "", port->dropped_frames);
        print_traffic("sent", &port->sent, file);
        fprintf(file, ", ");
        print_traffic("received", &port->received, file);
        fprintf(file, "}");
    }
    fprintf(file, "]}\n");
    return fflush(file) == 0 ? 0 : -errno;
}
