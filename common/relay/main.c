/* relay --parent PID --rate BYTES_PER_S --port FD [--capture FD] --port FD [--capture FD] ...
 *
 * Carries frames between sockets that it inherits (relay.h) until its standard input ends; a
 * capture is of the port before it. Prints one line of counts whenever a line comes from there, and
 * a last one at the end. PID is who started it, with whom it dies, even where that one is killed.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"
#include "relay.h"

static const int64_t ns_per_s = 1000 * 1000 * 1000;

struct options {
    long parent;
    uint64_t rate_bytes_per_s;
    struct numalab_relay_port port[NUMALAB_RELAY_MOST_PORTS];
    unsigned ports;
};

static int64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * ns_per_s + now.tv_nsec;
}

static int read_option(const char *name, const char *value, struct options *options)
{
    uint64_t number;
    int error = numalab_read_whole(value, 0, INT32_MAX, &number);
    if (error < 0) return error;
    if (strcmp(name, "--parent") == 0) {
        options->parent = (long)number;
    } else if (strcmp(name, "--rate") == 0) {
        options->rate_bytes_per_s = number;
    } else if (strcmp(name, "--port") == 0 && options->ports < NUMALAB_RELAY_MOST_PORTS) {
        options->port[options->ports++] =
            (struct numalab_relay_port){.fd = (int)number, .capture = -1};
    } else if (strcmp(name, "--capture") == 0 && options->ports > 0) {
        options->port[options->ports - 1].capture = (int)number;
    } else {
        return -EINVAL;
    }
    return 0;
}

static int read_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){.parent = -1};
    if (argc % 2 == 0) return -EINVAL;
    for (int i = 1; i < argc; i += 2) {
        const int error = read_option(argv[i], argv[i + 1], options);
        if (error == 0) continue;
        fprintf(stderr, "relay: can't take %s %s: unknown, or out of range\n", argv[i],
                argv[i + 1]);
        return error;
    }
    return options->parent < 0 ? -EINVAL : 0;
}

/* Answers the lines that have come. Returns 0 at the input's end, 1 before, or a negative errno. */
static int answer(const struct numalab_relay *relay)
{
    char text[256];
    const ssize_t got = read(STDIN_FILENO, text, sizeof text);
    if (got < 0 && errno == EINTR) return 1;
    if (got <= 0) return (int)got;
    for (ssize_t i = 0; i < got; i++) {
        if (text[i] != '\n') continue;
        const int error = numalab_relay_print(relay, stdout, now_ns(CLOCK_MONOTONIC));
        if (error < 0) return error;
    }
    return 1;
}

static int carry(struct numalab_relay *relay, unsigned ports)
{
    struct pollfd polled[1 + NUMALAB_RELAY_MOST_PORTS] = {{STDIN_FILENO, POLLIN, 0}};
    for (;;) {
        const int64_t next_ns = numalab_relay_step(relay, now_ns(CLOCK_MONOTONIC));
        const int64_t wait_ns = next_ns == INT64_MAX ? -1 : next_ns - now_ns(CLOCK_MONOTONIC);
        const struct timespec wait = {wait_ns > 0 ? wait_ns / ns_per_s : 0,
                                      wait_ns > 0 ? wait_ns % ns_per_s : 0};
        numalab_relay_poll(relay, polled + 1);
        if (ppoll(polled, 1 + ports, next_ns == INT64_MAX ? NULL : &wait, NULL) < 0) {
            if (errno == EINTR) continue;
            return -errno;
        }
        if (polled[0].revents) {
            const int error = answer(relay);
            if (error <= 0) return error;
        }
    }
}

int main(int argc, char **argv)
{
    struct options options;
    struct numalab_relay *relay;
    if (read_options(argc, argv, &options) < 0) {
        fprintf(stderr, "usage: relay --parent PID --rate BYTES_PER_S "
                        "--port FD [--capture FD] --port FD [--capture FD] ...\n");
        return 2;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != options.parent) return 1;
    /* Frames cross a link in a quarter of a millisecond. */
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
    signal(SIGPIPE, SIG_IGN);
    int error = numalab_relay_open(&relay, options.port, options.ports, options.rate_bytes_per_s,
                                   now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC));
    if (error == 0) error = carry(relay, options.ports);
    if (error == 0) error = numalab_relay_print(relay, stdout, now_ns(CLOCK_MONOTONIC));
    numalab_relay_close(relay);
    if (error < 0) fprintf(stderr, "relay: %s\n", strerror(-error));
    return error < 0;
}
