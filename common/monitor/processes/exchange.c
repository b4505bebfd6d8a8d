#define _GNU_SOURCE
#include "exchange.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "inside.h"
#include "message.h"

/* Takes one message; a descriptor that came beside it replaces *descriptor, if that is
 * asked for. Returns 1 for a message, 0 for none, 2 when the channel is closed, -1 with
 * the outcome set. */
static int receive(struct numalab_worker *worker, struct numalab_message *message,
                   int *descriptor)
{
    const bool is_wanted = descriptor && *descriptor < 0;
    const ssize_t got = numalab_receive_message(worker->channel, message, MSG_DONTWAIT,
                                                is_wanted ? descriptor : NULL);
    if (got < 0) return got == -EAGAIN || got == -EINTR ? 0 : 2;
    if (got == 0) return 2; /* the process descriptor tells the rest */
    if (got != (ssize_t)sizeof *message) return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    if (message->error > 0 || message->error < -4095) return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    return 1;
}

/* Keeps a crash report or a leave; any other message that is no reply is a forgery. */
static int note_report(struct numalab_worker *worker, const struct numalab_message *message)
{
    return numalab_worker_keep_report(worker, message) ? 0 : numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
}

/* Sends the request, unless something waits that is no crash report. */
static int begin(struct numalab_exchange *one)
{
    struct numalab_worker *worker = one->worker;
    one->request->ticket = ++worker->ticket;
    one->is_done = false;
    one->channel_open = true;
    if (one->descriptor) *one->descriptor = -1;

    /* Nothing may be waiting: a reply before the request is a forgery. */
    int early = receive(worker, one->reply, NULL);
    if (early < 0) return -1;
    if (early == 1 && note_report(worker, one->reply) < 0) return -1;
    /* A dead worker's channel refuses; its process descriptor then tells. A full one
     * belongs to a worker that does not read what it is told. */
    if (send(worker->channel, one->request, sizeof *one->request,
             MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno == EAGAIN)
        return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    return 0;
}

/* The channel is readable. */
static int take_message(struct numalab_exchange *one, double start_s, double now_s)
{
    struct numalab_worker *worker = one->worker;
    int got = receive(worker, one->reply, one->descriptor);
    if (got < 0) return -1;
    if (got == 2) one->channel_open = false; /* until the process descriptor tells */
    if (got != 1) return 0;
    if (one->reply->kind != NUMALAB_REPLY) return note_report(worker, one->reply);
    if (one->reply->ticket != one->request->ticket) return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    worker->rank_notes = one->reply->rank_notes;
    worker->started_at_s = start_s;
    worker->elapsed_s = now_s - start_s;
    one->is_done = true;
    return numalab_worker_check_output(worker);
}

static bool has_told(const struct numalab_worker *worker)
{
    return worker->outcome.has_report || worker->outcome.has_left;
}

/* Of the workers, one whose process descriptor is readable. The launcher ends all ranks as
 * soon as one lets go of its descriptors, and they may be gone before it: so a worker that has
 * told of its end comes before any that has not. */
static int note_deaths(struct numalab_exchange *list, size_t count, const struct pollfd *fds,
                       size_t *failed)
{
    size_t ended = count;
    for (size_t i = 0; i < count && ended == count; i++)
        if (fds[3 * i + 1].revents) ended = i;
    if (ended == count) return 0;
    for (size_t i = 0; i < count; i++) {
        struct numalab_worker *worker = list[i].worker;
        numalab_worker_take_reports(worker);
        if (!has_told(list[ended].worker) && has_told(worker)) ended = i;
    }
    *failed = ended;
    list[ended].worker->outcome.is_anyone = count > 1 && !has_told(list[ended].worker);
    return numalab_worker_note_death(list[ended].worker);
}

/* Messages that all ranks have asked MPI for so far. A rank may forge its number, and gains
 * nothing but time that is limited. */
static uint64_t messages_so_far(const struct numalab_exchange *list, size_t count)
{
    struct numalab_rank_notes notes;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (list[i].worker->rank_notes &&
            numalab_worker_read(list[i].worker, list[i].worker->rank_notes, &notes,
                                sizeof notes) == 0)
            sum += notes.messages;
    return sum;
}

int numalab_exchange(struct numalab_exchange *list, size_t count,
                     const struct numalab_watch *watch, size_t *failed)
{
    enum { WATCH, CANCEL, FIRST };
    struct pollfd fds[FIRST + 3 * NUMALAB_MAX_RANKS];
    struct numalab_worker *const first = list[0].worker;
    const double start_s = numalab_now_s();
    const double phase_s = first->limits.phase_s;
    const double last_deadline_s = start_s + phase_s * first->limits.patience;
    double deadline_s = start_s + phase_s;
    double next_look_s = start_s + 1e-3 * NUMALAB_LOOK_MS;
    uint64_t messages = messages_so_far(list, count);

    for (*failed = 0; *failed < count; ++*failed)
        if (begin(&list[*failed]) < 0) return -1;

    for (;;) {
        fds[WATCH] = (struct pollfd){.fd = watch ? watch->fd : -1, .events = POLLIN};
        fds[CANCEL] = (struct pollfd){.fd = first->cancel_fd, .events = POLLIN};
        for (size_t i = 0; i < count; i++) {
            const struct numalab_worker *worker = list[i].worker;
            struct pollfd *of_worker = &fds[FIRST + 3 * i];
            const bool listens = list[i].channel_open && !list[i].is_done;
            of_worker[0] =
                (struct pollfd){.fd = listens ? worker->channel : -1, .events = POLLIN};
            of_worker[1] = (struct pollfd){.fd = worker->pid_fd, .events = POLLIN};
            of_worker[2] = (struct pollfd){.fd = worker->output, .events = POLLIN};
        }
        int timeout_ms = NUMALAB_LOOK_MS;
        if (watch) {
            int wanted_ms = watch->timeout_ms(watch->context);
            if (wanted_ms >= 0 && wanted_ms < timeout_ms) timeout_ms = wanted_ms;
        }
        *failed = 0;
        int ready = poll(fds, FIRST + 3 * count, timeout_ms);
        double now_s = numalab_now_s();
        if (ready < 0 && errno != EINTR)
            return numalab_worker_kit_error(first, "wait for the worker", -errno);
        if (ready <= 0)
            for (size_t i = 0; i < FIRST + 3 * count; i++) fds[i].revents = 0;

        size_t done = 0;
        for (size_t i = 0; i < count; i++) {
            *failed = i;
            if (fds[FIRST + 3 * i].revents && take_message(&list[i], start_s, now_s) < 0)
                return -1;
            done += list[i].is_done;
        }
        if (done == count) return 0;
        *failed = 0;
        if (fds[CANCEL].revents) return numalab_worker_fail(first, NUMALAB_CANCELLED);
        if (watch &&
            (ready <= 0 || fds[WATCH].revents || watch->timeout_ms(watch->context) == 0)) {
            int error = watch->serve(watch->context);
            if (error < 0) return numalab_worker_kit_error(first, "trace page faults", error);
        }
        const bool is_time_to_look = now_s > next_look_s;
        if (is_time_to_look && last_deadline_s > deadline_s) {
            const uint64_t before = messages;
            messages = messages_so_far(list, count);
            if (messages != before)
                deadline_s = now_s + phase_s < last_deadline_s ? now_s + phase_s
                                                               : last_deadline_s;
        }
        for (size_t i = 0; i < count; i++) {
            *failed = i;
            if (fds[FIRST + 3 * i + 2].revents &&
                numalab_worker_check_output(list[i].worker) < 0)
                return -1;
        }
        if (note_deaths(list, count, &fds[FIRST], failed) < 0) return -1;
        for (size_t i = 0; i < count; i++) {
            struct numalab_worker *worker = list[i].worker;
            *failed = i;
            if (now_s > deadline_s && !list[i].is_done) {
                const bool had_patience = last_deadline_s > start_s;
                worker->outcome.went_on = had_patience && deadline_s >= last_deadline_s;
                worker->outcome.limit_s =
                    worker->outcome.went_on ? last_deadline_s - start_s : phase_s;
                worker->outcome.ranks_waiting = count - done;
                return numalab_worker_fail(worker, NUMALAB_TIMED_OUT);
            }
            if (is_time_to_look && (numalab_worker_check_memory(worker) < 0 || numalab_worker_check_threads(worker) < 0))
                return -1;
        }
        if (is_time_to_look) next_look_s = now_s + 1e-3 * NUMALAB_LOOK_MS;
    }
}
