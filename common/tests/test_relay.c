/* The switch between virtual nodes: whom frames reach, when, what is counted and captured. Times
 * are given, so nothing here depends on how fast the test runs. */
#define _GNU_SOURCE
#include "relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "relay/frame.h"
#include "relay/link_rate.h"

static int failures;

enum { RATE_BYTES_PER_S = 1000 * 1000, NS_PER_BYTE = 1000 }; /* a byte takes a microsecond */

/* ---- a link of a certain rate ------------------------------------------------------------ */

static void test_link_rate(void)
{
    struct numalab_link_rate link = {.rate_bytes_per_s = RATE_BYTES_PER_S};
    EXPECT(numalab_link_rate_send(&link, 5000, 100) == 5000 + 100 * NS_PER_BYTE);
    /* A second one that comes meanwhile waits for the first. */
    EXPECT(numalab_link_rate_send(&link, 6000, 50) == 5000 + 150 * NS_PER_BYTE);
    /* An idle link has nothing to its credit: both of these take their time. */
    EXPECT(numalab_link_rate_send(&link, 1000000000, 1000) == 1000000000 + 1000 * NS_PER_BYTE);
    EXPECT(numalab_link_rate_send(&link, 1000000000, 1000) == 1000000000 + 2000 * NS_PER_BYTE);

    /* Rounded up: many frames are never faster than the rate, and at most 1 ns each slower. */
    const uint64_t odd_rate = 6250001;
    struct numalab_link_rate odd = {.rate_bytes_per_s = odd_rate};
    int64_t crossed_ns = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < 10000; i++) {
        crossed_ns = numalab_link_rate_send(&odd, 0, 60 + i % 1455);
        bytes += 60 + i % 1455;
    }
    const double least_ns = (double)bytes * 1e9 / (double)odd_rate;
    EXPECT((double)crossed_ns >= least_ns && (double)crossed_ns <= least_ns + 10000);
}

/* ---- frames ------------------------------------------------------------------------------- */

enum { IP_HEADER = 20, TCP_HEADER = 20, HEADERS = 14 + IP_HEADER + TCP_HEADER };

/* A frame to the node at a port, with so much TCP payload; returns its bytes. */
static size_t make_frame(uint8_t *frame, unsigned target, size_t payload)
{
    const size_t packet = IP_HEADER + TCP_HEADER + payload, bytes = 14 + packet;
    memset(frame, 0, bytes);
    memcpy(frame, NUMALAB_NODE_ADDRESS_PREFIX, 5);
    frame[5] = (uint8_t)(target + 1);
    frame[12] = 0x08;
    frame[14] = 0x45;
    frame[16] = (uint8_t)(packet >> 8);
    frame[17] = (uint8_t)packet;
    frame[14 + 9] = 6;
    frame[14 + IP_HEADER + 12] = 5 << 4;
    return bytes;
}

static void test_where_frames_go(void)
{
    uint8_t frame[2048];
    const size_t bytes = make_frame(frame, 2, 10);
    EXPECT(numalab_frame_ports(frame, bytes, 0, 4) == 1u << 2);
    EXPECT(numalab_frame_ports(frame, bytes, 0, 2) == 0); /* there is no such node */
    EXPECT(numalab_frame_ports(frame, bytes, 2, 4) == 0); /* its own */
    EXPECT(numalab_frame_ports(frame, 13, 0, 4) == 0);
    frame[5] = 0;
    EXPECT(numalab_frame_ports(frame, bytes, 1, 4) == 0);
    frame[5] = 5;
    EXPECT(numalab_frame_ports(frame, bytes, 1, 4) == 0);
    make_frame(frame, 0, 10);
    frame[1] ^= 1; /* another maker's address */
    EXPECT(numalab_frame_ports(frame, bytes, 1, 4) == 0);
    memset(frame, 0xff, 6);
    EXPECT(numalab_frame_ports(frame, bytes, 1, 4) == 13u);
    EXPECT(numalab_frame_ports(frame, bytes, 1, 2) == 1u);
}

static void test_what_tcp_carries(void)
{
    uint8_t frame[2048];
    size_t bytes = make_frame(frame, 1, 1460);
    EXPECT(bytes == 1514 && numalab_frame_tcp_payload(frame, bytes) == 1460);
    /* Short frames are padded, and the padding is not carried for anybody. */
    bytes = make_frame(frame, 1, 2);
    EXPECT(numalab_frame_tcp_payload(frame, 60) == 2);
    /* A packet that says it is longer than the frame; headers that reach beyond it. */
    EXPECT(numalab_frame_tcp_payload(frame, bytes - 1) == 0);
    frame[14 + IP_HEADER + 12] = 6 << 4;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 0);
    frame[14 + IP_HEADER + 12] = 4 << 4;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 0);
    make_frame(frame, 1, 2);
    frame[14] = 0x4f;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 0);
    /* Options of both headers are no payload. */
    bytes = make_frame(frame, 1, 100);
    frame[14] = 0x46;
    frame[14 + IP_HEADER + 4 + 12] = 8 << 4;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 100 - 4 - 12);
    /* UDP; a later fragment; IPv6; too short for all that. */
    make_frame(frame, 1, 100);
    frame[14 + 9] = 17;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 0);
    make_frame(frame, 1, 100);
    frame[14 + 7] = 1;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 0);
    make_frame(frame, 1, 100);
    frame[12] = 0x86, frame[13] = 0xdd;
    EXPECT(numalab_frame_tcp_payload(frame, bytes) == 0);
    for (size_t i = 0; i < HEADERS; i++) EXPECT(numalab_frame_tcp_payload(frame, i) == 0);
}

/* ---- the switch ---------------------------------------------------------------------------- */

struct cluster {
    struct numalab_relay *relay;
    unsigned ports;
    int node[NUMALAB_RELAY_MOST_PORTS], file[NUMALAB_RELAY_MOST_PORTS];
    struct numalab_relay_port port[NUMALAB_RELAY_MOST_PORTS];
};

static void open_cluster(struct cluster *cluster, unsigned ports, bool captures)
{
    cluster->ports = ports;
    for (unsigned i = 0; i < ports; i++) {
        int ends[2];
        EXPECT(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, ends) == 0);
        cluster->node[i] = ends[0];
        cluster->file[i] = captures ? memfd_create("capture", 0) : -1;
        cluster->port[i] = (struct numalab_relay_port){ends[1], cluster->file[i]};
    }
    EXPECT(numalab_relay_open(&cluster->relay, cluster->port, ports, RATE_BYTES_PER_S,
                              1000000000000000000) == 0);
}

static void close_cluster(struct cluster *cluster)
{
    numalab_relay_close(cluster->relay);
    for (unsigned i = 0; i < cluster->ports; i++) {
        if (cluster->node[i] >= 0) close(cluster->node[i]);
        close(cluster->port[i].fd);
        if (cluster->file[i] >= 0) close(cluster->file[i]);
    }
}

static void send_from(const struct cluster *cluster, unsigned source, const void *frame,
                      size_t bytes)
{
    EXPECT(send(cluster->node[source], frame, bytes, 0) == (ssize_t)bytes);
}

/* Bytes of the next frame that a node gets, 0 where there is none. */
static size_t got(const struct cluster *cluster, unsigned position)
{
    uint8_t frame[NUMALAB_RELAY_MOST_FRAME_BYTES];
    const ssize_t bytes = recv(cluster->node[position], frame, sizeof frame, 0);
    return bytes < 0 ? 0 : (size_t)bytes;
}

static void test_a_frame_crosses_two_links(void)
{
    struct cluster two;
    uint8_t frame[2048];
    const size_t bytes = make_frame(frame, 1, 946); /* 1000 in all */
    open_cluster(&two, 2, false);
    EXPECT(numalab_relay_step(two.relay, 7000) == INT64_MAX);
    send_from(&two, 0, frame, bytes);
    EXPECT(numalab_relay_step(two.relay, 10000) == 10000 + 1000 * NS_PER_BYTE);
    EXPECT(numalab_relay_sent(two.relay, 0)->frames == 0);
    /* At the switch; looked at late, it still leaves when it would have. */
    EXPECT(numalab_relay_step(two.relay, 1013000) == 10000 + 2000 * NS_PER_BYTE);
    EXPECT(numalab_relay_sent(two.relay, 0)->bytes == 1000 && got(&two, 1) == 0);
    EXPECT(numalab_relay_step(two.relay, 2009999) == 2010000);
    EXPECT(got(&two, 1) == 0);
    EXPECT(numalab_relay_step(two.relay, 2010000) == INT64_MAX);
    EXPECT(got(&two, 1) == 1000 && got(&two, 0) == 0);
    const struct numalab_traffic *sent = numalab_relay_sent(two.relay, 0),
                                 *received = numalab_relay_received(two.relay, 1);
    EXPECT(sent->frames == 1 && sent->bytes == 1000 && sent->tcp_frames == 1);
    EXPECT(sent->tcp_payload_bytes == 946 && sent->largest_frame_bytes == 1000);
    EXPECT(received->frames == 1 && received->bytes == 1000 && received->tcp_payload_bytes == 946);
    EXPECT(numalab_relay_received(two.relay, 0)->frames == 0);
    EXPECT(numalab_relay_sent(two.relay, 1)->frames == 0);
    close_cluster(&two);
}

/* As many as the sender can, looked at every `every_ns`: never faster than the rate and the
 * lateness that is made up for, and where the relay looks in time, not slower. Returns the frames
 * that came. */
static size_t push(int64_t every_ns, int64_t deadline_ns)
{
    struct cluster two;
    uint8_t frame[2048];
    const size_t bytes = make_frame(frame, 1, 946);
    size_t came = 0;
    int64_t now_ns = 1;
    open_cluster(&two, 2, false);
    while (now_ns < deadline_ns) {
        while (send(two.node[0], frame, bytes, 0) == (ssize_t)bytes) continue;
        const int64_t next_ns = numalab_relay_step(two.relay, now_ns);
        while (got(&two, 1) == bytes) came++;
        EXPECT(next_ns != INT64_MAX && next_ns > now_ns);
        now_ns = every_ns ? now_ns + every_ns : next_ns;
    }
    close_cluster(&two);
    return came;
}

static void test_rate(void)
{
    /* 1 ms per frame and link: 999 have crossed both within a second. */
    EXPECT(push(0, 1000000000) == 999 - 1);
    /* Looked at every 3 ms it makes up for what was there all the time. */
    const size_t late = push(3000000, 1000000000);
    EXPECT(late >= 990 && late <= 1000);
    /* Every 50 ms: 5 ms and a frame of each look. */
    const size_t very_late = push(50000000, 1000000000);
    EXPECT(very_late >= 20 && very_late <= 20 * 7);
}

static void test_contention(void)
{
    struct cluster four;
    uint8_t frame[2048];
    const size_t bytes = make_frame(frame, 3, 946);
    size_t came = 0, sent = 0;
    open_cluster(&four, 4, false);
    for (int64_t now_ns = 1; now_ns < 1000000000;) {
        for (unsigned source = 0; source < 3; source++)
            while (send(four.node[source], frame, bytes, 0) == (ssize_t)bytes) sent++;
        const int64_t next_ns = numalab_relay_step(four.relay, now_ns);
        while (got(&four, 3) == bytes) came++;
        EXPECT(next_ns > now_ns);
        now_ns = next_ns;
    }
    /* Their link carries what it can; the senders are held back, and share it. */
    EXPECT(came == 998);
    uint64_t crossed = 0;
    for (unsigned source = 0; source < 3; source++) {
        const struct numalab_traffic *traffic = numalab_relay_sent(four.relay, source);
        EXPECT(traffic->frames > 300);
        crossed += traffic->frames;
    }
    EXPECT(crossed >= came && crossed <= came + NUMALAB_RELAY_QUEUE_FRAMES && sent >= crossed);
    close_cluster(&four);
}

static void test_a_node_that_takes_nothing_loses_nothing(void)
{
    struct cluster two;
    uint8_t frame[2048];
    const size_t bytes = make_frame(frame, 1, 946);
    const int small = 4608;
    size_t sent = 0, came = 0;
    int64_t now_ns = 1;
    open_cluster(&two, 2, false);
    EXPECT(setsockopt(two.port[1].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small) == 0);
    while (now_ns < 1000000000) {
        while (send(two.node[0], frame, bytes, 0) == (ssize_t)bytes) sent++;
        const int64_t next_ns = numalab_relay_step(two.relay, now_ns);
        now_ns = next_ns < now_ns + 1000000 ? next_ns : now_ns + 1000000;
    }
    struct pollfd polled[2];
    numalab_relay_poll(two.relay, polled);
    EXPECT(polled[0].fd < 0); /* the sender is held back */
    EXPECT(polled[1].fd == two.port[1].fd && polled[1].events == (POLLIN | POLLOUT));
    for (; now_ns < 5000000000; now_ns += 500000) {
        while (got(&two, 1) == bytes) came++;
        numalab_relay_step(two.relay, now_ns);
    }
    EXPECT(sent > NUMALAB_RELAY_QUEUE_FRAMES && came == sent);
    EXPECT(numalab_relay_received(two.relay, 1)->frames == sent);
    close_cluster(&two);
}

static void test_frames_for_many_and_for_nobody(void)
{
    struct cluster three;
    uint8_t frame[NUMALAB_RELAY_MOST_FRAME_BYTES + 1];
    char *text = NULL;
    size_t text_bytes;
    open_cluster(&three, 3, false);
    const size_t bytes = make_frame(frame, 3, 10); /* no such node */
    send_from(&three, 1, frame, bytes);
    send_from(&three, 1, frame, 5);
    make_frame(frame, 0, sizeof frame - HEADERS);
    send_from(&three, 1, frame, sizeof frame);
    memset(frame, 0xff, 6);
    send_from(&three, 1, frame, bytes);
    numalab_relay_step(three.relay, 1);
    numalab_relay_step(three.relay, 1000000000);
    numalab_relay_step(three.relay, 2000000000);
    EXPECT(got(&three, 0) == bytes && got(&three, 2) == bytes);
    EXPECT(got(&three, 0) == 0 && got(&three, 1) == 0 && got(&three, 2) == 0);
    EXPECT(numalab_relay_sent(three.relay, 1)->frames == 1);
    EXPECT(numalab_relay_received(three.relay, 0)->frames == 1);

    FILE *file = open_memstream(&text, &text_bytes);
    EXPECT(file && numalab_relay_print(three.relay, file, 2250000000) == 0);
    fclose(file);
    static const char head[] = "{\"quiet_ms\": 1250, \"waiting_frames\": 0, \"capture_errno\": 0, ";
    EXPECT(strncmp(text, head, sizeof head - 1) == 0);
    EXPECT(strstr(text, "{\"dropped_frames\": 3, \"sent\": {\"frames\": 1, \"bytes\": 64, "));
    EXPECT(text[text_bytes - 1] == '\n' && strchr(text, '\n') == text + text_bytes - 1);
    free(text);
    close_cluster(&three);
}

static void test_a_node_that_is_gone(void)
{
    struct cluster two;
    uint8_t frame[2048];
    const size_t bytes = make_frame(frame, 1, 946);
    open_cluster(&two, 2, false);
    close(two.node[1]);
    two.node[1] = -1;
    for (int64_t now_ns = 1; now_ns < 1000000000; now_ns += 1000000) {
        send_from(&two, 0, frame, bytes);
        numalab_relay_step(two.relay, now_ns);
    }
    EXPECT(numalab_relay_sent(two.relay, 0)->frames > 900);
    EXPECT(numalab_relay_received(two.relay, 1)->frames == 0);
    close_cluster(&two);
}

static void test_peak(void)
{
    struct cluster two;
    uint8_t frame[2048];
    open_cluster(&two, 2, false);
    const size_t bytes = make_frame(frame, 1, 446); /* 500 in all */
    const int64_t window_ns = NUMALAB_RELAY_WINDOW_MS * 1000000ll;
    for (int window = 0; window < 4; window++)
        for (int i = 0; i < 3 + (window == 2); i++) {
            send_from(&two, 0, frame, bytes);
            const int64_t now_ns = window * window_ns + 1 + i * 2000000;
            numalab_relay_step(two.relay, now_ns);
            numalab_relay_step(two.relay, now_ns + 1000000);
        }
    EXPECT(numalab_relay_sent(two.relay, 0)->frames == 13);
    EXPECT(numalab_relay_sent(two.relay, 0)->most_bytes_in_window == 4 * bytes);
    close_cluster(&two);
}

/* As the format's description has them: magic number, version 2.4, link type Ethernet; then of each
 * frame seconds, microseconds and twice its length. */
static void test_capture(void)
{
    struct cluster two;
    uint8_t frame[2048], file[4096];
    open_cluster(&two, 2, true);
    const size_t bytes = make_frame(frame, 1, 946);
    send_from(&two, 0, frame, bytes);
    for (int64_t now_ns = 1000; now_ns < 10000000; now_ns += 1000000)
        numalab_relay_step(two.relay, now_ns);
    for (unsigned i = 0; i < 2; i++) {
        const uint32_t wanted[] = {0xa1b2c3d4, 4 << 16 | 2, 0, 0, NUMALAB_RELAY_MOST_FRAME_BYTES, 1,
                                   /* sent at 1 ms, received at 2 ms */
                                   1000000000, 1001 + 1000 * i, 1000, 1000};
        EXPECT(pread(two.file[i], file, sizeof file, 0) == (ssize_t)(sizeof wanted + bytes));
        EXPECT(memcmp(file, wanted, sizeof wanted) == 0);
        EXPECT(memcmp(file + sizeof wanted, frame, bytes) == 0);
    }
    close_cluster(&two);
}

static void test_what_can_not_be_opened(void)
{
    struct numalab_relay *relay;
    const struct numalab_relay_port port[5] = {{-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}, {-1, -1}};
    EXPECT(numalab_relay_open(&relay, port, 1, 1, 0) == -EINVAL && !relay);
    EXPECT(numalab_relay_open(&relay, port, 5, 1, 0) == -EINVAL && !relay);
    EXPECT(numalab_relay_open(&relay, port, 2, 0, 0) == -EINVAL && !relay);
    const struct numalab_relay_port full[2] = {{-1, open("/dev/full", O_WRONLY)}, {-1, -1}};
    EXPECT(numalab_relay_open(&relay, full, 2, 1, 0) == -ENOSPC);
    numalab_relay_close(relay);
    close(full[0].capture);
}

/* ---- the program ---------------------------------------------------------------------------- */

/* A relay, started by a child that then does nothing. Returns the child; *relay: its process. */
static pid_t start_by_a_child(int input, int output, int link, pid_t *relay)
{
    int told[2];
    EXPECT(pipe(told) == 0);
    const pid_t parent = fork();
    if (parent == 0) {
        char self[16], socket[16];
        snprintf(self, sizeof self, "%d", (int)getpid());
        snprintf(socket, sizeof socket, "%d", link);
        const pid_t child = fork();
        if (child == 0) {
            dup2(input, STDIN_FILENO);
            dup2(output, STDOUT_FILENO);
            execl(RELAY, RELAY, "--parent", self, "--rate", "1000000", "--port", socket, "--port",
                  socket, (char *)NULL);
            _exit(99);
        }
        if (write(told[1], &child, sizeof child) == sizeof child) pause();
        _exit(1);
    }
    EXPECT(read(told[0], relay, sizeof *relay) == sizeof *relay);
    close(told[0]);
    close(told[1]);
    return parent;
}

/* Its input stays open, so only its parent's death can end it. This process takes over orphans, so
 * it can wait for the relay; alarm() ends a test that hangs. */
static void test_it_dies_with_its_parent(void)
{
    int input[2], output[2], link[2], status = 0;
    pid_t relay = 0;
    char first = 0;
    alarm(60);
    EXPECT(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0);
    EXPECT(pipe(input) == 0 && pipe(output) == 0 && socketpair(AF_UNIX, SOCK_DGRAM, 0, link) == 0);
    const pid_t parent = start_by_a_child(input[0], output[1], link[0], &relay);
    EXPECT(write(input[1], "\n", 1) == 1);
    EXPECT(read(output[0], &first, 1) == 1 && first == '{'); /* it runs */
    EXPECT(waitpid(relay, &status, WNOHANG) < 0 && errno == ECHILD);
    EXPECT(kill(parent, SIGKILL) == 0 && waitpid(parent, NULL, 0) == parent);
    EXPECT(waitpid(relay, &status, 0) == relay);
    EXPECT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    for (int i = 0; i < 2; i++) close(input[i]), close(output[i]), close(link[i]);
    alarm(0);
}

int main(void)
{
    test_link_rate();
    test_where_frames_go();
    test_what_tcp_carries();
    test_a_frame_crosses_two_links();
    test_rate();
    test_contention();
    test_a_node_that_takes_nothing_loses_nothing();
    test_frames_for_many_and_for_nobody();
    test_a_node_that_is_gone();
    test_peak();
    test_capture();
    test_what_can_not_be_opened();
    test_it_dies_with_its_parent();
    return failures > 0;
}
