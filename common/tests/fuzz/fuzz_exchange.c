/* What a worker may say to the monitor, invented by libFuzzer: messages before and after a request,
 * short ones, with descriptors, with any numbers in them, and any output. The monitor must neither
 * crash, hang nor leak a descriptor, and its record must be JSON.
 *
 * Input: what is asked for; how many messages; of each how it is sent, and its bytes; what is left
 * over is printed. The last message is a plain reply, so that no run waits for a limit. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <jansson.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monitor/processes/worker_internal.h"
#include "monitor/record.h"

enum { MOST_MESSAGES = 4, MOST_DESCRIPTORS = 3, PAGE_BYTES = 4096 };

/* How a message is sent: bits of a byte. */
enum { OWN_TICKET = 1, CUT_SHORT = 2, EARLY = 4, DESCRIPTORS_FROM_BIT = 3, IS_REPLY = 32 };

static struct {
    pid_t pid; /* of a process that does nothing, whose memory is looked at */
    int pid_fd;
} stand_in;

#define REQUIRE(holds)                                                                             \
    do {                                                                                           \
        if (!(holds)) {                                                                            \
            fprintf(stderr, "line %d: %s\n", __LINE__, #holds);                                    \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

int LLVMFuzzerInitialize(int *count, char ***words);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *count, char ***words)
{
    (void)count;
    (void)words;
    stand_in.pid = fork();
    if (stand_in.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (;;) pause();
    }
    stand_in.pid_fd = (int)syscall(SYS_pidfd_open, stand_in.pid, 0);
    return stand_in.pid_fd < 0;
}

struct input {
    const uint8_t *cursor;
    size_t left;
};

static uint8_t take_byte(struct input *input)
{
    if (input->left == 0) return 0;
    input->left--;
    return *input->cursor++;
}

struct sent_message {
    struct numalab_message message;
    size_t bytes;
    int how;
};

static struct sent_message take_message(struct input *input)
{
    struct sent_message sent_message = {.bytes = sizeof sent_message.message,
                                        .how = take_byte(input)};
    const size_t bytes =
        input->left < sizeof sent_message.message ? input->left : sizeof sent_message.message;
    memcpy(&sent_message.message, input->cursor, bytes);
    input->cursor += bytes;
    input->left -= bytes;
    if (sent_message.how & CUT_SHORT) sent_message.bytes = bytes;
    if (sent_message.how & IS_REPLY) sent_message.message.kind = NUMALAB_REPLY;
    return sent_message;
}

/* With so many descriptors of one kind beside it. */
static void send_message(int channel, const struct sent_message *sent_message)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(MOST_DESCRIPTORS * sizeof(int))];
    } control = {0};
    const size_t count =
        ((unsigned)sent_message->how >> DESCRIPTORS_FROM_BIT) % (MOST_DESCRIPTORS + 1);
    struct iovec part = {.iov_base = (void *)(uintptr_t)&sent_message->message,
                         .iov_len = sent_message->bytes};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1};
    if (count) {
        envelope.msg_control = control.bytes;
        envelope.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(count * sizeof(int));
        for (size_t i = 0; i < count; i++)
            memcpy(CMSG_DATA(header) + i * sizeof(int), &stand_in.pid_fd, sizeof(int));
    }
    sendmsg(channel, &envelope, MSG_NOSIGNAL | MSG_DONTWAIT);
}

struct talk {
    int channel;
    struct sent_message sent_message[MOST_MESSAGES];
    size_t count;
};

/* Answers the one request: as the input says, and then plainly. */
static void *answer(void *argument)
{
    struct talk *talk = argument;
    struct numalab_request request;
    if (recv(talk->channel, &request, sizeof request, 0) != (ssize_t)sizeof request) return NULL;
    for (size_t i = 0; i < talk->count; i++) {
        if (talk->sent_message[i].how & EARLY) continue;
        if (talk->sent_message[i].how & OWN_TICKET)
            talk->sent_message[i].message.ticket = request.ticket;
        send_message(talk->channel, &talk->sent_message[i]);
    }
    struct sent_message plain = {.message = {.kind = NUMALAB_REPLY, .ticket = request.ticket},
                                 .bytes = sizeof plain.message};
    send_message(talk->channel, &plain);
    return NULL;
}

static int ask(struct numalab_worker *worker, uint8_t what)
{
    static struct numalab_driver makes_arrays;
    const struct numalab_driver *driver = numalab_drivers[0];
    struct numalab_message reply;
    int descriptor = -1;
    switch (what % 5) {
    case 0:
        return numalab_worker_allocate(worker, 1000, driver, NUMALAB_ANONYMOUS);
    case 1:
        return numalab_worker_run(worker, "compute", NULL);
    case 2:
        makes_arrays = *driver;
        makes_arrays.create_phase = "create";
        return numalab_worker_allocate(worker, 1000, &makes_arrays, NUMALAB_ANONYMOUS);
    case 3: {
        const int got =
            numalab_worker_request(worker, NUMALAB_OPEN_USERFAULTFD, &reply, &descriptor);
        if (descriptor >= 0) close(descriptor);
        return got;
    }
    default:
        return numalab_worker_request(worker, NUMALAB_UNTRAP, &reply, NULL);
    }
}

/* The record of how it ended is text, whatever the worker printed. */
static void record(const struct numalab_worker *worker)
{
    json_t *outcome = numalab_record_outcome(worker, numalab_drivers[0]);
    REQUIRE(outcome != NULL);
    char *text = json_dumps(outcome, JSON_ENSURE_ASCII);
    REQUIRE(text != NULL);
    json_t *again = json_loads(text, 0, NULL);
    REQUIRE(again && json_equal(again, outcome));
    json_decref(again);
    free(text);
    json_decref(outcome);
}

static int next_descriptor(void)
{
    const int next = fcntl(0, F_DUPFD_CLOEXEC, 3);
    close(next);
    return next;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    struct talk talk = {.count = 0};
    const int next = next_descriptor();
    const uint8_t what = take_byte(&input);
    const size_t count = take_byte(&input) % (MOST_MESSAGES + 1);
    while (talk.count < count) talk.sent_message[talk.count++] = take_message(&input);

    int channel[2], output[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) == 0);
    REQUIRE(pipe2(output, O_CLOEXEC | O_NONBLOCK) == 0);
    struct numalab_worker worker = numalab_no_worker;
    worker.kind = NUMALAB_CHILD;
    worker.pid = stand_in.pid;
    worker.pid_fd = stand_in.pid_fd;
    worker.channel = channel[0];
    worker.output = output[0];
    worker.outcome.doing = "start";
    worker.limits = (struct numalab_limits){.phase_s = 10.0,
                                            .memory_bytes = (uint64_t)64 << 30,
                                            .output_bytes = 1 << 20,
                                            .thread_count = 2,
                                            .any_address_space = true};
    ssize_t unused = write(output[1], input.cursor, input.left < 8192 ? input.left : 8192);
    (void)unused;
    talk.channel = channel[1];
    for (size_t i = 0; i < talk.count; i++)
        if (talk.sent_message[i].how & EARLY) send_message(channel[1], &talk.sent_message[i]);

    pthread_t thread;
    REQUIRE(pthread_create(&thread, NULL, answer, &talk) == 0);
    const int got = ask(&worker, what);
    REQUIRE(got == 0 || (got == -1 && worker.outcome.kind != NUMALAB_OK));
    if (got == 0) {
        char read[PAGE_BYTES];
        REQUIRE(numalab_worker_read_or_fail(&worker, worker.address[0], read, sizeof read) == 0 ||
                worker.outcome.kind != NUMALAB_OK);
    }
    REQUIRE(worker.outcome.kind != NUMALAB_TIMED_OUT && worker.pid_fd == stand_in.pid_fd);
    shutdown(channel[0], SHUT_RDWR);
    pthread_join(thread, NULL);
    numalab_worker_drain_output(&worker);
    record(&worker);
    if (worker.has_crash_report) { /* as where it then ended */
        const struct numalab_message *report = &worker.crash_report;
        numalab_worker_fail(
            &worker, (struct numalab_outcome){.kind = NUMALAB_CRASHED,
                                              .crashed = {report->signal_number, true, *report}});
        record(&worker);
    }
    if (worker.output >= 0) close(worker.output);
    close(output[1]);
    close(channel[0]);
    close(channel[1]);
    REQUIRE(next_descriptor() == next);
    return 0;
}
