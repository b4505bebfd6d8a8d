#define _GNU_SOURCE
#include "exchange.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "heartbeat.h"
#include "inside.h"
#include "message.h"
#include "monitor/proc.h"

/* An empty message looks like the end of the channel. */
static bool is_closed(int channel)
{
    struct pollfd end = {.fd = channel, .events = POLLRDHUP};
    return poll(&end, 1, 0) > 0 && (end.revents & (POLLRDHUP | POLLHUP));
}

/* Takes one message; a descriptor that came beside it replaces *descriptor, if that is
 * asked for. Returns 1 for a message, 0 for none, 2 when the channel is closed, -1 with
 * the outcome set. */
static int receive(struct numalab_worker *worker, struct numalab_message *message, int *descriptor)
{
    const bool is_wanted = descriptor && *descriptor < 0;
    const ssize_t got = numalab_receive_message(worker->channel, message, MSG_DONTWAIT,
                                                is_wanted ? descriptor : NULL);
    if (got < 0) return got == -EAGAIN || got == -EINTR ? 0 : 2;
    /* The process descriptor tells the rest. */
    if (got == 0 && is_closed(worker->channel)) return 2;
    if (got != (ssize_t)sizeof *message) return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    if (message->error > 0 || message->error < -4095)
        return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
    return 1;
}

/* Keeps a crash report or a leave; any other message that is no reply is a forgery. */
static int note_report(struct numalab_worker *worker, const struct numalab_message *message)
{
    return numalab_worker_keep_report(worker, message)
               ? 0
               : numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
}

/* Sends the request, unless something waits that is no crash report. */
static int begin(struct numalab_exchange *one)
{
    struct numalab_worker *worker = one->worker;
    one->request->ticket = ++worker->ticket;
    one->request->modes = worker->limits.modes;
    one->request->line_bytes = worker->limits.line_bytes;
    one->is_done = false;
    one->channel_open = true;
    if (one->descriptor) *one->descriptor = -1;

    /* Nothing may be waiting: a reply before the request is a forgery. */
    int early = receive(worker, one->reply, NULL);
    if (early < 0) return -1;
    if (early == 1 && note_report(worker, one->reply) < 0) return -1;
    /* A dead worker's channel refuses; its process descriptor then tells. A full one
     * belongs to a worker that does not read what it is told. */
    const ssize_t sent =
        send(worker->channel, one->request, sizeof *one->request, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
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
    if (one->reply->ticket != one->request->ticket)
        return numalab_worker_fail(worker, NUMALAB_BAD_PROTOCOL);
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

/* Messages that all ranks have asked MPI for so far. A rank may forge its number, and gains
 * nothing but time that is limited. */
static uint64_t messages_so_far(const struct numalab_exchange *list, size_t count)
{
    struct numalab_rank_notes notes;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct numalab_worker *worker = list[i].worker;
        if (worker->rank_notes &&
            numalab_worker_peek(worker, worker->rank_notes, &notes, sizeof notes) == 0)
            sum += notes.messages;
    }
    return sum;
}

/* What is waited for: pollfds and nothing else, the workers' last. */
struct waited {
    struct pollfd watch, cancel;
    struct {
        struct pollfd channel, end, output;
    } of[NUMALAB_MAX_RANKS];
};
enum { WAITED_BEFORE_WORKERS = 2, WAITED_OF_WORKER = 3 };
_Static_assert(sizeof(struct waited) ==
                   (WAITED_BEFORE_WORKERS + WAITED_OF_WORKER * NUMALAB_MAX_RANKS) *
                       sizeof(struct pollfd),
               "poll takes it as an array");

/* A kernel that sleeps takes no CPU time, and one that uses a single core takes long to use up that
 * of a team: both end after so many times phase_s of wall time. */
enum { WALL_FACTOR = 2 };

/* What the workers have taken of the time that they may take. */
struct spent {
    double cpu_s;  /* of all their threads, over the cores that their teams can use */
    double wall_s; /* in which the monitor ran, too */
};

struct talk {
    struct numalab_exchange *list;
    size_t count, done;
    const struct numalab_watch *watch;
    size_t *failed;
    const struct numalab_limits *limits; /* the first worker's */
    double start_s, now_s, next_look_s;
    double served_s; /* when what is watched was ready last */
    struct numalab_lived lived_before;
    size_t cores;
    struct spent progress; /* until ranks were last seen to go on; else nothing */
    uint64_t messages;     /* of all ranks, when they were counted last */
    struct waited waited;
};

/* Who has just been served is soon back, most often, and a core that sleeps takes some tens of
 * microseconds to wake: so long it is better to stay awake. */
static const double awake_s = 100e-6;

/* As poll, which it gives way for. */
static int poll_awake(const struct talk *talk, struct pollfd *fds, nfds_t count, int timeout_ms)
{
    while (timeout_ms > 0 && numalab_now_s() < talk->served_s + awake_s) {
        const int ready = poll(fds, count, 0);
        if (ready) return ready;
        sched_yield();
    }
    return poll(fds, count, timeout_ms);
}

/* Waits until something happens, or it is time to look. Returns how many there are, or -1 with the
 * outcome of the first worker set. */
static int wait_for_something(struct talk *talk)
{
    struct numalab_worker *const first = talk->list[0].worker;
    struct waited *waited = &talk->waited;
    const nfds_t count = (nfds_t)(WAITED_BEFORE_WORKERS + WAITED_OF_WORKER * talk->count);
    waited->watch = (struct pollfd){.fd = talk->watch ? talk->watch->fd : -1, .events = POLLIN};
    waited->cancel = (struct pollfd){.fd = first->cancel_fd, .events = POLLIN};
    for (size_t i = 0; i < talk->count; i++) {
        const struct numalab_exchange *one = &talk->list[i];
        const bool listens = one->channel_open && !one->is_done;
        waited->of[i].channel =
            (struct pollfd){.fd = listens ? one->worker->channel : -1, .events = POLLIN};
        waited->of[i].end = (struct pollfd){.fd = one->worker->pid_fd, .events = POLLIN};
        waited->of[i].output = (struct pollfd){.fd = one->worker->output, .events = POLLIN};
    }
    int timeout_ms = NUMALAB_LOOK_MS;
    if (talk->watch) {
        int wanted_ms = talk->watch->timeout_ms(talk->watch->context);
        if (wanted_ms >= 0 && wanted_ms < timeout_ms) timeout_ms = wanted_ms;
    }
    struct pollfd *fds = (struct pollfd *)(void *)waited;
    const int ready = poll_awake(talk, fds, count, timeout_ms);
    talk->now_s = numalab_now_s();
    if (ready < 0 && errno != EINTR)
        return numalab_worker_kit_error(first, "wait for the worker", -errno);
    /* What was to tell of page faults does not, or would keep who asks it waiting. */
    if (ready > 0 && waited->watch.revents & (POLLERR | POLLNVAL))
        return numalab_worker_fail(first, NUMALAB_BAD_PROTOCOL);
    if (ready > 0) return ready;
    for (nfds_t i = 0; i < count; i++) fds[i].revents = 0;
    return 0;
}

/* Takes the messages that have come. */
static int take_messages(struct talk *talk)
{
    talk->done = 0;
    for (size_t i = 0; i < talk->count; i++) {
        *talk->failed = i;
        if (talk->waited.of[i].channel.revents &&
            take_message(&talk->list[i], talk->start_s, talk->now_s) < 0)
            return -1;
        talk->done += talk->list[i].is_done;
    }
    *talk->failed = 0;
    return 0;
}

/* What else there is to serve, where it is its turn. */
static int serve_watch(struct talk *talk, bool is_anything_ready)
{
    const struct numalab_watch *watch = talk->watch;
    if (!watch) return 0;
    if (is_anything_ready && !talk->waited.watch.revents && watch->timeout_ms(watch->context) != 0)
        return 0;
    const int error = watch->serve(watch->context);
    if (talk->waited.watch.revents) talk->served_s = numalab_now_s();
    if (talk->list[0].worker->outcome.kind != NUMALAB_OK) return -1; /* it was found out there */
    if (error >= 0) return 0;
    return numalab_worker_obstructed(talk->list[0].worker, "trace page faults", error);
}

/* Cores that all teams together can use at once. */
static size_t usable_cores(const struct numalab_limits *limits, size_t worker_count)
{
    const size_t threads = worker_count * (limits->thread_count ? limits->thread_count : 1);
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0) return threads;
    const size_t pus = (size_t)CPU_COUNT(&set);
    return threads < pus ? threads : pus;
}

static double smaller(double a, double b)
{
    return a < b ? a : b;
}

/* Wall time is that in which the monitor could run, too: what a pause of the node takes is
 * nobody's fault. How much may be left out is limited, since a kernel that starts processes could
 * stop the monitor, or keep it from its core. */
static struct spent spent_so_far(struct talk *talk)
{
    static const double most_paused_s = 3600.0;
    const struct numalab_lived lived = numalab_heartbeat_read(talk->limits->heartbeat);
    const struct numalab_lived *before = &talk->lived_before;
    struct spent spent = {.wall_s =
                              lived.elapsed_s - before->elapsed_s -
                              smaller(lived.paused_s - before->paused_s, most_paused_s) -
                              smaller(lived.starved_s - before->starved_s, talk->limits->phase_s)};
    for (size_t i = 0; i < talk->count; i++) {
        struct numalab_exchange *one = &talk->list[i];
        const double cpu_s = numalab_proc_cpu_s(one->worker->pid);
        if (cpu_s > one->cpu_s) one->cpu_s = cpu_s;
        spent.cpu_s += (one->cpu_s - one->first_cpu_s) / (double)talk->cores;
    }
    return spent;
}

static int take_output(struct talk *talk)
{
    for (size_t i = 0; i < talk->count; i++) {
        *talk->failed = i;
        if (talk->waited.of[i].output.revents &&
            numalab_worker_check_output(talk->list[i].worker) < 0)
            return -1;
    }
    return 0;
}

/* Of the workers, one whose process descriptor is readable. The launcher ends all ranks as
 * soon as one lets go of its descriptors, and they may be gone before it: so a worker that has
 * told of its end comes before any that has not. */
static int note_deaths(struct talk *talk)
{
    const struct numalab_exchange *list = talk->list;
    size_t ended = 0;
    while (ended < talk->count && !talk->waited.of[ended].end.revents) ended++;
    if (ended == talk->count) return 0;
    for (size_t i = 0; i < talk->count; i++) {
        struct numalab_worker *worker = list[i].worker;
        numalab_worker_take_reports(worker);
        if (!has_told(list[ended].worker) && has_told(worker)) ended = i;
    }
    *talk->failed = ended;
    list[ended].worker->outcome.is_anyone = talk->count > 1 && !has_told(list[ended].worker);
    return numalab_worker_note_death(list[ended].worker);
}

/* The outcome of a worker that has had its time. */
static int time_out(const struct talk *talk, struct numalab_worker *worker, double limit_s)
{
    struct numalab_outcome *outcome = &worker->outcome;
    outcome->limit_s = limit_s;
    outcome->ranks_waiting = talk->count - talk->done;
    return numalab_worker_fail(worker, NUMALAB_TIMED_OUT);
}

/* All phases of a process together have a limit, too: else one that sleeps in each of them for
 * nearly as long as it may would take an hour to look at. */
static int check_all_phases(struct talk *talk, struct numalab_worker *worker,
                            const struct spent *spent)
{
    const struct numalab_limits *limits = talk->limits;
    const struct numalab_worker *first = talk->list[0].worker;
    const double most_s = limits->phases * limits->phase_s;
    struct numalab_outcome *outcome = &worker->outcome;
    if (!limits->phases || limits->patience) return 0;
    const bool is_wall = first->spent_wall_s + spent->wall_s > WALL_FACTOR * most_s;
    if (!is_wall && first->spent_cpu_s + spent->cpu_s <= most_s) return 0;
    outcome->is_of_all_phases = true;
    outcome->is_wall_limit = is_wall;
    return time_out(talk, worker, is_wall ? WALL_FACTOR * most_s : most_s);
}

/* All are done. */
static int end(struct talk *talk)
{
    struct numalab_worker *first = talk->list[0].worker;
    if (!talk->limits->phases) return 0;
    const struct spent spent = spent_so_far(talk);
    *talk->failed = 0;
    if (check_all_phases(talk, first, &spent) < 0) return -1;
    first->spent_cpu_s += spent.cpu_s;
    first->spent_wall_s += spent.wall_s;
    return 0;
}

/* Looks at the time of a worker that is not done. Ranks that have gone on asking for messages get
 * another phase's, until their patience is over. */
static int check_time(struct talk *talk, struct numalab_worker *worker)
{
    const struct numalab_limits *limits = talk->limits;
    struct numalab_outcome *outcome = &worker->outcome;
    const struct spent spent = spent_so_far(talk);
    if (limits->cut_s > 0 && spent.wall_s > limits->cut_s) {
        outcome->is_cut = outcome->is_wall_limit = true;
        return time_out(talk, worker, limits->cut_s);
    }
    if (check_all_phases(talk, worker, &spent) < 0) return -1;
    if (limits->patience) {
        const uint64_t messages = messages_so_far(talk->list, talk->count);
        if (messages != talk->messages) talk->progress = spent;
        talk->messages = messages;
    }
    const double most_s = limits->phase_s * limits->patience;
    const bool is_over[] = {
        spent.cpu_s - talk->progress.cpu_s > limits->phase_s,
        spent.wall_s - talk->progress.wall_s > WALL_FACTOR * limits->phase_s,
        limits->patience && spent.cpu_s > most_s,
        limits->patience && spent.wall_s > WALL_FACTOR * most_s,
    };
    for (size_t i = 0; i < sizeof is_over / sizeof is_over[0]; i++) {
        if (!is_over[i]) continue;
        outcome->is_wall_limit = i % 2 == 1;
        outcome->went_on =
            limits->patience && (spent.cpu_s > most_s || spent.wall_s > WALL_FACTOR * most_s);
        return time_out(talk, worker,
                        (outcome->is_wall_limit ? WALL_FACTOR : 1) *
                            (outcome->went_on ? most_s : limits->phase_s));
    }
    return 0;
}

/* Looks at the time, and at what the workers use up. */
static int check_limits(struct talk *talk)
{
    bool is_first = true;
    for (size_t i = 0; i < talk->count; i++) {
        struct numalab_worker *worker = talk->list[i].worker;
        *talk->failed = i;
        if (is_first && !talk->list[i].is_done) {
            is_first = false;
            if (check_time(talk, worker) < 0) return -1;
        }
        if (numalab_worker_check_memory(worker) < 0 || numalab_worker_check_threads(worker) < 0)
            return -1;
    }
    return 0;
}

/* Hands out the requests and takes the time. Workers that stand still have theirs waiting when they
 * go on, and the clock runs before any of them does: they may have seen their inputs change from
 * their first instruction on, and what they make of that is measured. */
static int hand_out(struct talk *talk)
{
    bool stand_still = false;
    talk->start_s = numalab_now_s();
    for (*talk->failed = 0; *talk->failed < talk->count; ++*talk->failed) {
        struct numalab_exchange *one = &talk->list[*talk->failed];
        if (begin(one) < 0 || numalab_worker_check_stopped(one->worker) < 0) return -1;
        stand_still |= one->worker->is_stopped;
    }
    if (!stand_still) return 0;
    talk->start_s = numalab_now_s();
    for (*talk->failed = 0; *talk->failed < talk->count; ++*talk->failed)
        if (numalab_worker_wake(talk->list[*talk->failed].worker) < 0) return -1;
    return 0;
}

int numalab_exchange(struct numalab_exchange *list, size_t count, const struct numalab_watch *watch,
                     size_t *failed)
{
    struct numalab_worker *const first = list[0].worker;
    struct talk talk;
    talk.list = list;
    talk.count = count;
    talk.watch = watch;
    talk.failed = failed;
    talk.limits = &first->limits;
    talk.cores = usable_cores(talk.limits, count);
    talk.progress = (struct spent){0.0, 0.0};
    talk.messages = talk.limits->patience ? messages_so_far(list, count) : 0;
    for (size_t i = 0; i < count; i++)
        list[i].first_cpu_s = list[i].cpu_s = numalab_proc_cpu_s(list[i].worker->pid);
    talk.lived_before = numalab_heartbeat_read(talk.limits->heartbeat);
    talk.served_s = 0.0;
    if (hand_out(&talk) < 0) return -1;
    talk.next_look_s = talk.start_s + 1e-3 * NUMALAB_LOOK_MS;
    for (;;) {
        *failed = 0;
        const int ready = wait_for_something(&talk);
        if (ready < 0 || take_messages(&talk) < 0) return -1;
        if (talk.done == count) return end(&talk);
        if (talk.waited.cancel.revents) return numalab_worker_fail(first, NUMALAB_CANCELLED);
        if (serve_watch(&talk, ready > 0) < 0) return -1;
        if (take_output(&talk) < 0 || note_deaths(&talk) < 0) return -1;
        if (talk.now_s <= talk.next_look_s) continue;
        if (check_limits(&talk) < 0) return -1;
        talk.next_look_s = talk.now_s + 1e-3 * NUMALAB_LOOK_MS;
    }
}
