#define _GNU_SOURCE
#include "request_loop.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>

#include "heartbeat.h"
#include "worker_internal.h"
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
    const bool is_needed = descriptor && *descriptor < 0;
    const ssize_t got = numalab_receive_message(worker->channel, message, MSG_DONTWAIT,
                                                is_needed ? descriptor : NULL);
    if (got < 0) return got == -EAGAIN || got == -EINTR ? 0 : 2;
    /* The process descriptor tells the rest. */
    if (got == 0 && is_closed(worker->channel)) return 2;
    if (got != (ssize_t)sizeof *message)
        return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
    if (message->error > 0 || message->error < -4095)
        return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
    return 1;
}

/* Keeps a crash report or a leave; any other message that is no reply is a forgery. */
static int note_report(struct numalab_worker *worker, const struct numalab_message *message)
{
    return numalab_worker_keep_report(worker, message)
               ? 0
               : numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
}

/* Sends the request, unless something waits that is no crash report. */
static int send_request(struct numalab_request_exchange *exchange)
{
    struct numalab_worker *worker = exchange->worker;
    exchange->request->ticket = ++worker->ticket;
    exchange->request->modes = worker->limits.modes;
    exchange->request->line_bytes = worker->limits.line_bytes;
    exchange->is_done = false;
    exchange->channel_open = true;
    if (exchange->descriptor) *exchange->descriptor = -1;

    /* Nothing may be waiting: a reply before the request is a forgery. */
    int early = receive(worker, exchange->reply, NULL);
    if (early < 0) return -1;
    if (early == 1 && note_report(worker, exchange->reply) < 0) return -1;
    /* A dead worker's channel refuses; its process descriptor then tells. A full one
     * belongs to a worker that does not read what it is told. */
    const ssize_t sent = send(worker->channel, exchange->request, sizeof *exchange->request,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EAGAIN) return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
    return 0;
}

/* The channel is readable. */
static int take_message(struct numalab_request_exchange *exchange, double start_s, double now_s)
{
    struct numalab_worker *worker = exchange->worker;
    int got = receive(worker, exchange->reply, exchange->descriptor);
    if (got < 0) return -1;
    if (got == 2) exchange->channel_open = false; /* until the process descriptor tells */
    if (got != 1) return 0;
    if (exchange->reply->kind != NUMALAB_REPLY) return note_report(worker, exchange->reply);
    if (exchange->reply->ticket != exchange->request->ticket)
        return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
    worker->rank_notes = exchange->reply->rank_notes;
    worker->started_at_s = start_s;
    worker->elapsed_s = now_s - start_s;
    exchange->is_done = true;
    return numalab_worker_check_output(worker);
}

static bool has_reported(const struct numalab_worker *worker)
{
    return worker->has_crash_report || worker->has_left;
}

/* Messages that all ranks have asked MPI for so far. A rank may forge its number, and gains
 * nothing but time that is limited. */
static uint64_t count_messages(const struct numalab_request_exchange *list, size_t count)
{
    struct numalab_rank_notes notes;
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        struct numalab_worker *worker = list[i].worker;
        if (worker->rank_notes &&
            numalab_worker_read(worker, worker->rank_notes, &notes, sizeof notes) == 0)
            sum += notes.messages;
    }
    return sum;
}

/* What is waited for: pollfds and nothing else, the workers' last. */
struct pollset {
    struct pollfd watch, cancel;
    struct {
        struct pollfd channel, end, output;
    } worker[NUMALAB_MAX_RANKS];
};
enum { POLLSET_COMMON = 2, POLLSET_PER_WORKER = 3 };
_Static_assert(sizeof(struct pollset) == (POLLSET_COMMON + POLLSET_PER_WORKER * NUMALAB_MAX_RANKS) *
                                             sizeof(struct pollfd),
               "poll takes it as an array");

/* A kernel that sleeps takes no CPU time, and one that uses a single core takes long to use up that
 * of a team: both end after so many times phase_s of wall time. */
enum { WALL_FACTOR = 2 };

/* What the workers have taken of the time that they may take. */
struct time_used {
    double cpu_s;  /* of all their threads, over the cores that their teams can use */
    double wall_s; /* in which the monitor ran, too */
};

struct request_loop {
    struct numalab_request_exchange *list;
    size_t count, done;
    const struct numalab_watch *watch;
    size_t *failed;
    const struct numalab_limits *limits; /* the first worker's */
    double start_s, now_s, next_check_s;
    double last_served_s; /* when what is watched was ready last */
    struct numalab_elapsed elapsed_before;
    size_t cores;
    struct time_used progress; /* until ranks were last seen to go on; else nothing */
    uint64_t messages;         /* of all ranks, when they were counted last */
    struct pollset pollset;
};

/* Who has just been served is soon back, most often, and a core that sleeps takes some tens of
 * microseconds to wake: so long it is better to stay awake. */
static const double awake_s = 100e-6;

/* As poll, which it gives way for. */
static int poll_awake(const struct request_loop *loop, struct pollfd *fds, nfds_t count,
                      int timeout_ms)
{
    while (timeout_ms > 0 && numalab_now_s() < loop->last_served_s + awake_s) {
        const int ready = poll(fds, count, 0);
        if (ready) return ready;
        sched_yield();
    }
    return poll(fds, count, timeout_ms);
}

/* Waits until something happens, or it is time to look. Returns how many there are, or -1 with the
 * outcome of the first worker set. */
static int poll_events(struct request_loop *loop)
{
    struct numalab_worker *const first = loop->list[0].worker;
    struct pollset *pollset = &loop->pollset;
    const nfds_t count = (nfds_t)(POLLSET_COMMON + POLLSET_PER_WORKER * loop->count);
    pollset->watch = (struct pollfd){.fd = loop->watch ? loop->watch->fd : -1, .events = POLLIN};
    pollset->cancel = (struct pollfd){.fd = first->cancel_fd, .events = POLLIN};
    for (size_t i = 0; i < loop->count; i++) {
        const struct numalab_request_exchange *exchange = &loop->list[i];
        const bool listens = exchange->channel_open && !exchange->is_done;
        pollset->worker[i].channel =
            (struct pollfd){.fd = listens ? exchange->worker->channel : -1, .events = POLLIN};
        pollset->worker[i].end = (struct pollfd){.fd = exchange->worker->pid_fd, .events = POLLIN};
        pollset->worker[i].output =
            (struct pollfd){.fd = exchange->worker->output, .events = POLLIN};
    }
    int timeout_ms = NUMALAB_POLL_MS;
    if (loop->watch) {
        int watch_ms = loop->watch->timeout_ms(loop->watch->context);
        if (watch_ms >= 0 && watch_ms < timeout_ms) timeout_ms = watch_ms;
    }
    struct pollfd *fds = (struct pollfd *)(void *)pollset;
    const int ready = poll_awake(loop, fds, count, timeout_ms);
    loop->now_s = numalab_now_s();
    if (ready < 0 && errno != EINTR)
        return numalab_worker_kit_error(first, "wait for the worker", -errno);
    /* What was to tell of page faults does not, or would keep who asks it waiting. */
    if (ready > 0 && pollset->watch.revents & (POLLERR | POLLNVAL))
        return numalab_worker_fail_as(first, NUMALAB_BAD_PROTOCOL);
    if (ready > 0) return ready;
    for (nfds_t i = 0; i < count; i++) fds[i].revents = 0;
    return 0;
}

/* Takes the messages that have come. */
static int take_messages(struct request_loop *loop)
{
    loop->done = 0;
    for (size_t i = 0; i < loop->count; i++) {
        *loop->failed = i;
        if (loop->pollset.worker[i].channel.revents &&
            take_message(&loop->list[i], loop->start_s, loop->now_s) < 0)
            return -1;
        loop->done += loop->list[i].is_done;
    }
    *loop->failed = 0;
    return 0;
}

/* What else there is to serve, where it is its turn. */
static int serve_watch(struct request_loop *loop, bool is_anything_ready)
{
    const struct numalab_watch *watch = loop->watch;
    if (!watch) return 0;
    if (is_anything_ready && !loop->pollset.watch.revents && watch->timeout_ms(watch->context) != 0)
        return 0;
    const int error = watch->serve(watch->context);
    if (loop->pollset.watch.revents) loop->last_served_s = numalab_now_s();
    if (loop->list[0].worker->outcome.kind != NUMALAB_OK) return -1; /* it was found out there */
    if (error >= 0) return 0;
    return numalab_worker_fail_obstructed(loop->list[0].worker, "trace page faults", error);
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
static struct time_used read_time_used(struct request_loop *loop)
{
    static const double most_paused_s = 3600.0;
    const struct numalab_elapsed elapsed = numalab_heartbeat_read(loop->limits->heartbeat);
    const struct numalab_elapsed *before = &loop->elapsed_before;
    struct time_used time_used = {
        .wall_s = elapsed.elapsed_s - before->elapsed_s -
                  smaller(elapsed.paused_s - before->paused_s, most_paused_s) -
                  smaller(elapsed.starved_s - before->starved_s, loop->limits->phase_s)};
    for (size_t i = 0; i < loop->count; i++) {
        struct numalab_request_exchange *exchange = &loop->list[i];
        const double cpu_s = numalab_proc_cpu_s(exchange->worker->pid);
        if (cpu_s > exchange->cpu_s) exchange->cpu_s = cpu_s;
        time_used.cpu_s += (exchange->cpu_s - exchange->first_cpu_s) / (double)loop->cores;
    }
    return time_used;
}

static int take_output(struct request_loop *loop)
{
    for (size_t i = 0; i < loop->count; i++) {
        *loop->failed = i;
        if (loop->pollset.worker[i].output.revents &&
            numalab_worker_check_output(loop->list[i].worker) < 0)
            return -1;
    }
    return 0;
}

/* Of the workers, one whose process descriptor is readable. The launcher ends all ranks as
 * soon as one lets go of its descriptors, and they may be gone before it: so a worker that has
 * told of its end comes before any that has not. */
static int note_deaths(struct request_loop *loop)
{
    const struct numalab_request_exchange *list = loop->list;
    size_t ended = 0;
    while (ended < loop->count && !loop->pollset.worker[ended].end.revents) ended++;
    if (ended == loop->count) return 0;
    for (size_t i = 0; i < loop->count; i++) {
        struct numalab_worker *worker = list[i].worker;
        numalab_worker_take_reports(worker);
        if (!has_reported(list[ended].worker) && has_reported(worker)) ended = i;
    }
    *loop->failed = ended;
    struct numalab_worker *const worker = list[ended].worker;
    numalab_worker_note_death(worker);
    if (worker->outcome.kind == NUMALAB_EXITED)
        worker->outcome.exited.is_unattributed = loop->count > 1 && !has_reported(worker);
    return -1;
}

/* Ends a worker that has had its time. */
static int time_out(const struct request_loop *loop, struct numalab_worker *worker,
                    struct numalab_timed_out timed_out)
{
    timed_out.pending_ranks = loop->count - loop->done;
    return numalab_worker_fail(
        worker, (struct numalab_outcome){.kind = NUMALAB_TIMED_OUT, .timed_out = timed_out});
}

/* All phases of a process together have a limit, too: else one that sleeps in each of them for
 * nearly as long as it may would take an hour to look at. */
static int check_all_phases(struct request_loop *loop, struct numalab_worker *worker,
                            const struct time_used *time_used)
{
    const struct numalab_limits *limits = loop->limits;
    const struct numalab_worker *first = loop->list[0].worker;
    const double most_s = limits->phases * limits->phase_s;
    if (!limits->phases || limits->patience) return 0;
    const bool is_wall = first->spent_wall_s + time_used->wall_s > WALL_FACTOR * most_s;
    if (!is_wall && first->spent_cpu_s + time_used->cpu_s <= most_s) return 0;
    return time_out(loop, worker,
                    (struct numalab_timed_out){.limit_s = is_wall ? WALL_FACTOR * most_s : most_s,
                                               .is_wall_limit = is_wall,
                                               .is_total = true});
}

/* All are done. */
static int end(struct request_loop *loop)
{
    struct numalab_worker *first = loop->list[0].worker;
    if (!loop->limits->phases) return 0;
    const struct time_used time_used = read_time_used(loop);
    *loop->failed = 0;
    if (check_all_phases(loop, first, &time_used) < 0) return -1;
    first->spent_cpu_s += time_used.cpu_s;
    first->spent_wall_s += time_used.wall_s;
    return 0;
}

/* Looks at the time of a worker that is not done. Ranks that have gone on asking for messages get
 * another phase's, until their patience is over. */
static int check_time(struct request_loop *loop, struct numalab_worker *worker)
{
    const struct numalab_limits *limits = loop->limits;
    const struct time_used time_used = read_time_used(loop);
    if (limits->cut_s > 0 && time_used.wall_s > limits->cut_s)
        return time_out(loop, worker,
                        (struct numalab_timed_out){
                            .limit_s = limits->cut_s, .is_wall_limit = true, .is_cut = true});
    if (check_all_phases(loop, worker, &time_used) < 0) return -1;
    if (limits->patience) {
        const uint64_t messages = count_messages(loop->list, loop->count);
        if (messages != loop->messages) loop->progress = time_used;
        loop->messages = messages;
    }
    const double most_s = limits->phase_s * limits->patience;
    const bool is_over[] = {
        time_used.cpu_s - loop->progress.cpu_s > limits->phase_s,
        time_used.wall_s - loop->progress.wall_s > WALL_FACTOR * limits->phase_s,
        limits->patience && time_used.cpu_s > most_s,
        limits->patience && time_used.wall_s > WALL_FACTOR * most_s,
    };
    for (size_t i = 0; i < sizeof is_over / sizeof is_over[0]; i++) {
        if (!is_over[i]) continue;
        const bool is_wall = i % 2 == 1;
        const bool has_progress = limits->patience && (time_used.cpu_s > most_s ||
                                                       time_used.wall_s > WALL_FACTOR * most_s);
        const double limit_s = has_progress ? most_s : limits->phase_s;
        return time_out(loop, worker,
                        (struct numalab_timed_out){.limit_s = (is_wall ? WALL_FACTOR : 1) * limit_s,
                                                   .is_wall_limit = is_wall,
                                                   .has_progress = has_progress});
    }
    return 0;
}

/* Looks at the time, and at what the workers use up. */
static int check_limits(struct request_loop *loop)
{
    bool is_first = true;
    for (size_t i = 0; i < loop->count; i++) {
        struct numalab_worker *worker = loop->list[i].worker;
        *loop->failed = i;
        if (is_first && !loop->list[i].is_done) {
            is_first = false;
            if (check_time(loop, worker) < 0) return -1;
        }
        if (numalab_worker_check_memory(worker) < 0 || numalab_worker_check_threads(worker) < 0)
            return -1;
    }
    return 0;
}

/* Hands out the requests and takes the time. Workers that stand still have theirs waiting when they
 * go on, and the clock runs before any of them does: they may have seen their inputs change from
 * their first instruction on, and what they make of that is measured. */
static int send_requests(struct request_loop *loop)
{
    bool stand_still = false;
    loop->start_s = numalab_now_s();
    for (*loop->failed = 0; *loop->failed < loop->count; ++*loop->failed) {
        struct numalab_request_exchange *exchange = &loop->list[*loop->failed];
        if (send_request(exchange) < 0 || numalab_worker_check_stopped(exchange->worker) < 0)
            return -1;
        stand_still |= exchange->worker->is_stopped;
    }
    if (!stand_still) return 0;
    loop->start_s = numalab_now_s();
    for (*loop->failed = 0; *loop->failed < loop->count; ++*loop->failed)
        if (numalab_worker_wake(loop->list[*loop->failed].worker) < 0) return -1;
    return 0;
}

int numalab_exchange_requests(struct numalab_request_exchange *list, size_t count,
                              const struct numalab_watch *watch, size_t *failed)
{
    struct numalab_worker *const first = list[0].worker;
    struct request_loop loop;
    loop.list = list;
    loop.count = count;
    loop.watch = watch;
    loop.failed = failed;
    loop.limits = &first->limits;
    loop.cores = usable_cores(loop.limits, count);
    loop.progress = (struct time_used){0.0, 0.0};
    loop.messages = loop.limits->patience ? count_messages(list, count) : 0;
    for (size_t i = 0; i < count; i++)
        list[i].first_cpu_s = list[i].cpu_s = numalab_proc_cpu_s(list[i].worker->pid);
    loop.elapsed_before = numalab_heartbeat_read(loop.limits->heartbeat);
    loop.last_served_s = 0.0;
    if (send_requests(&loop) < 0) return -1;
    loop.next_check_s = loop.start_s + 1e-3 * NUMALAB_POLL_MS;
    for (;;) {
        *failed = 0;
        const int ready = poll_events(&loop);
        if (ready < 0 || take_messages(&loop) < 0) return -1;
        if (loop.done == count) return end(&loop);
        if (loop.pollset.cancel.revents) return numalab_worker_fail_as(first, NUMALAB_CANCELLED);
        if (serve_watch(&loop, ready > 0) < 0) return -1;
        if (take_output(&loop) < 0 || note_deaths(&loop) < 0) return -1;
        if (loop.now_s <= loop.next_check_s) continue;
        if (check_limits(&loop) < 0) return -1;
        loop.next_check_s = loop.now_s + 1e-3 * NUMALAB_POLL_MS;
    }
}
