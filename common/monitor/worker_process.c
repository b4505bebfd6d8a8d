#define _GNU_SOURCE
#include "worker_process.h"

#include "exchange.h"
#include "message.h"
#include "sandbox.h"
#include "threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Often enough to end a worker that eats memory at page fault speed before the
 * machine swaps, rarely enough not to be seen in a timing. */
enum { LOOK_MS = 50 };

/* A worker that isn't stopped after so many looks, a millisecond apart, is not worth waiting
 * for. No clock is asked: a node that stands still for seconds, as a virtual machine may, costs
 * one look. */
enum { STOP_LOOKS = 2000 };

/* How long a sandbox may take to come up on a busy node, and to be gone. */
static const double sandbox_start_limit_s = 60.0;
enum { SANDBOX_END_MS = 10000 };

/* A shell's way to say by which signal a program has ended, and bubblewrap's. */
enum { EXIT_BY_SIGNAL = 128 };

/* A thread's stack and its allocator's arena reserve this much address space. */
static const uint64_t thread_reserve_bytes = (uint64_t)256 << 20;
static const uint64_t process_reserve_bytes = (uint64_t)8 << 30;

double numalab_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int numalab_worker_kit_error(struct numalab_worker *worker, const char *doing, int error)
{
    worker->outcome.kind = NUMALAB_KIT_ERROR;
    worker->outcome.doing = doing;
    worker->outcome.error = error;
    return -1;
}

bool numalab_worker_is_rank(const struct numalab_worker *worker)
{
    return !worker->is_child && worker->keeper == 0;
}

static int fail(struct numalab_worker *worker, enum numalab_outcome_kind kind)
{
    worker->outcome.kind = kind;
    return -1;
}

static void drain_output(struct numalab_worker *worker);

/* ---- start ------------------------------------------------------------- */

static void limit(int resource, uint64_t value)
{
    struct rlimit old;
    if (getrlimit(resource, &old) == 0 && old.rlim_max < value) value = old.rlim_max;
    setrlimit(resource, &(struct rlimit){value, value});
}

static void write_text(const char *path, const char *text)
{
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return;
    ssize_t unused = write(file, text, strlen(text));
    (void)unused;
    close(file);
}

/* channel: -1 for a launcher, which has none. */
static void become_worker(const char *const *command, int channel, int output,
                          const struct numalab_limits *limits, pid_t parent)
{
    sigset_t none;
    int input = open("/dev/null", O_RDONLY);

    setsid(); /* Ctrl-C reaches the monitor, which decides */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(126);
    /* dup2 clears close-on-exec, except where both are the same descriptor. */
    if (input < 0 || dup2(input, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0)
        _exit(126);
    if (channel == NUMALAB_CHANNEL_FD)
        fcntl(channel, F_SETFD, 0);
    else if (channel >= 0 && dup2(channel, NUMALAB_CHANNEL_FD) < 0)
        _exit(126);

    limit(RLIMIT_CORE, 0);
    write_text("/proc/self/oom_score_adj", "1000"); /* rather than the grader */
    if (!limits->huge_pages) prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (limits->sandbox) numalab_sandbox_clear_environment();
    execvp(command[0], (char *const *)(uintptr_t)command);
    _exit(127);
}

/* Starts command as a child; with a channel or, for a launcher, without. */
static int spawn(struct numalab_worker *worker, const char *const *command, bool has_channel,
                 const struct numalab_limits *limits, int cancel_fd)
{
    *worker = (struct numalab_worker){.pid = -1, .pid_fd = -1, .channel = -1,
                                      .output = -1, .cancel_fd = cancel_fd,
                                      .keeper_fd = -1, .is_child = true,
                                      .limits = *limits};
    worker->outcome.doing = "start";

    int channel[2] = {-1, -1}, output[2];
    if (has_channel && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
        return numalab_worker_kit_error(worker, "open the channel", -errno);
    worker->channel = channel[0];
    const int on = 1; /* who says hello */
    if (has_channel && limits->sandbox &&
        setsockopt(channel[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0) {
        int error = -errno;
        close(channel[1]);
        return numalab_worker_kit_error(worker, "open the channel", error);
    }
    if (pipe2(output, O_CLOEXEC) < 0) {
        int error = -errno;
        if (has_channel) close(channel[1]);
        return numalab_worker_kit_error(worker, "open the output", error);
    }
    worker->output = output[0];
    fcntl(output[0], F_SETFL, O_NONBLOCK);

    pid_t parent = getpid();
    worker->pid = fork();
    if (worker->pid == 0) become_worker(command, channel[1], output[1], limits, parent);
    int error = -errno;
    if (has_channel) close(channel[1]);
    close(output[1]);
    if (worker->pid < 0) return numalab_worker_kit_error(worker, "start the worker", error);

    worker->pid_fd = (int)syscall(SYS_pidfd_open, worker->pid, 0);
    if (worker->pid_fd < 0)
        return numalab_worker_kit_error(worker, "watch the worker", -errno);
    return 0;
}

/* The hello of the process that is about to become the worker; its id is the kernel's word.
 * Returns 1, or 0 where there is none yet, or -1 with the outcome set. */
static int take_hello(struct numalab_worker *worker)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct numalab_message hello;
    struct iovec part = {.iov_base = &hello, .iov_len = sizeof hello};
    struct msghdr envelope = {.msg_iov = &part, .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes};
    struct ucred sender = {0};
    const int off = 0;
    if (recvmsg(worker->channel, &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) !=
        (ssize_t)sizeof hello)
        return 0;
    const struct cmsghdr *header = CMSG_FIRSTHDR(&envelope);
    if (header && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_CREDENTIALS)
        memcpy(&sender, CMSG_DATA(header), sizeof sender);
    /* From now on messages bring descriptors. */
    setsockopt(worker->channel, SOL_SOCKET, SO_PASSCRED, &off, sizeof off);
    if (hello.kind != NUMALAB_HELLO || sender.pid <= 0)
        return numalab_worker_kit_error(worker, "learn which process is the worker", -EPROTO);
    worker->is_child = false;
    worker->pid = sender.pid;
    worker->pid_fd = (int)syscall(SYS_pidfd_open, sender.pid, 0);
    /* Gone already: its sandbox goes with it. */
    if (worker->pid_fd < 0 && errno == ESRCH) worker->pid_fd = dup(worker->keeper_fd);
    if (worker->pid_fd < 0) return numalab_worker_kit_error(worker, "watch the worker", -errno);
    return 1;
}

/* What was started is the sandbox: waits for the worker inside it. */
static int wait_for_hello(struct numalab_worker *worker)
{
    const double deadline_s = numalab_now_s() + sandbox_start_limit_s;
    worker->keeper = worker->pid;
    worker->keeper_fd = worker->pid_fd;
    worker->pid = worker->pid_fd = -1;
    for (int came = 0; came == 0;) {
        struct pollfd fds[] = {{.fd = worker->channel, .events = POLLIN},
                               {.fd = worker->keeper_fd, .events = POLLIN},
                               {.fd = worker->cancel_fd, .events = POLLIN}};
        poll(fds, sizeof fds / sizeof fds[0], LOOK_MS);
        came = take_hello(worker);
        if (came != 0) return came < 0 ? -1 : 0;
        if (fds[1].revents) { /* with its reason on the output, which the record keeps */
            drain_output(worker);
            return numalab_worker_kit_error(worker, "start the sandbox", -ECHILD);
        }
        if (numalab_worker_is_cancelled(worker)) return fail(worker, NUMALAB_CANCELLED);
        if (numalab_now_s() > deadline_s)
            return numalab_worker_kit_error(worker, "start the sandbox", -ETIMEDOUT);
    }
    return 0;
}

static int spawn_in_sandbox(struct numalab_worker *worker, const char *const *command,
                            const struct numalab_limits *limits, int cancel_fd)
{
    const char **words = numalab_sandbox_command(limits, command, 0, NULL);
    if (!words) {
        *worker = (struct numalab_worker){.pid = -1, .pid_fd = -1, .channel = -1,
                                          .output = -1, .keeper_fd = -1};
        return numalab_worker_kit_error(worker, "start the sandbox", -ENOMEM);
    }
    int started = spawn(worker, words, true, limits, cancel_fd);
    free(words);
    if (started < 0) return -1;
    return wait_for_hello(worker);
}

int numalab_worker_start(struct numalab_worker *worker, const char *program,
                         const struct numalab_limits *limits, int cancel_fd)
{
    const char *const command[] = {program, NULL};
    if (access(program, X_OK) < 0) {
        int error = -errno;
        *worker = (struct numalab_worker){.pid = -1, .pid_fd = -1, .channel = -1,
                                          .output = -1, .keeper_fd = -1};
        return numalab_worker_kit_error(worker, "find the worker", error);
    }
    return limits->sandbox ? spawn_in_sandbox(worker, command, limits, cancel_fd)
                           : spawn(worker, command, true, limits, cancel_fd);
}

int numalab_worker_launch(struct numalab_worker *worker, const char *const *command,
                          const struct numalab_limits *limits, int cancel_fd)
{
    return spawn(worker, command, false, limits, cancel_fd);
}

/* ---- what happens while it runs ------------------------------------------ */

static void drain_output(struct numalab_worker *worker)
{
    char buffer[65536];
    for (;;) {
        ssize_t got = read(worker->output, buffer, sizeof buffer);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) {
            close(worker->output);
            worker->output = -1;
        }
        if (got <= 0) return;
        if (worker->printed_bytes < NUMALAB_KEPT_OUTPUT_BYTES) {
            size_t room = NUMALAB_KEPT_OUTPUT_BYTES - (size_t)worker->printed_bytes;
            memcpy(worker->kept_output + worker->printed_bytes, buffer,
                   (size_t)got < room ? (size_t)got : room);
        }
        worker->printed_bytes += (uint64_t)got;
        if (worker->printed_bytes > worker->limits.output_bytes) return;
    }
}

int numalab_worker_check_output(struct numalab_worker *worker)
{
    if (worker->output < 0) return 0;
    drain_output(worker);
    if (worker->printed_bytes <= worker->limits.output_bytes) return 0;
    worker->outcome.limit_bytes = worker->limits.output_bytes;
    return fail(worker, NUMALAB_TOO_MUCH_OUTPUT);
}

static uint64_t resident_bytes(pid_t pid)
{
    char path[64];
    unsigned long long total = 0, resident = 0;
    snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu", &total, &resident) != 2) resident = 0;
    fclose(file);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int check_memory(struct numalab_worker *worker)
{
    uint64_t allowed = worker->array_bytes + worker->limits.memory_bytes;
    uint64_t resident = resident_bytes(worker->pid);
    if (resident <= allowed) return 0;
    worker->outcome.resident_bytes = resident;
    worker->outcome.limit_bytes = allowed;
    return fail(worker, NUMALAB_OUT_OF_MEMORY);
}

/* confine sets a limit, too, which does not count for root. */
static int check_threads(struct numalab_worker *worker)
{
    struct stat folder;
    char path[64];
    if (!worker->limits.sandbox) return 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)worker->pid);
    if (stat(path, &folder) < 0) return 0; /* its process descriptor tells */
    worker->outcome.threads = (size_t)folder.st_nlink - 2; /* without . and .. */
    worker->outcome.most_threads = numalab_sandbox_most_threads(&worker->limits, 0);
    if (worker->outcome.threads <= worker->outcome.most_threads) return 0;
    return fail(worker, NUMALAB_TOO_MANY_THREADS);
}

/* What a worker says before it ends: that it crashed, or as a rank that it leaves. */
static bool keep_report(struct numalab_worker *worker, const struct numalab_message *message)
{
    if (message->kind == NUMALAB_FAULT) {
        worker->outcome.has_report = true;
        worker->outcome.report = *message;
        return true;
    }
    if (message->kind != NUMALAB_LEAVE || !numalab_worker_is_rank(worker)) return false;
    worker->outcome.has_left = true;
    worker->outcome.exit_code = (int)message->ticket;
    return true;
}

/* What it has said stays in the channel when it has ended. */
static void take_reports(struct numalab_worker *worker)
{
    struct numalab_message message;
    while (recv(worker->channel, &message, sizeof message, MSG_DONTWAIT) ==
           (ssize_t)sizeof message)
        keep_report(worker, &message);
}

/* How the worker inside a sandbox has ended is what the sandbox then ends with. */
static int note_death_in_sandbox(struct numalab_worker *worker)
{
    struct pollfd end = {.fd = worker->keeper_fd, .events = POLLIN};
    siginfo_t info = {0};
    worker->is_reaped = true;
    if (worker->outcome.has_report) {
        worker->outcome.signal_number = worker->outcome.report.signal_number;
        return fail(worker, NUMALAB_CRASHED);
    }
    const bool is_known =
        poll(&end, 1, SANDBOX_END_MS) > 0 &&
        waitid(P_PID, (id_t)worker->keeper, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        info.si_code == CLD_EXITED;
    if (is_known && info.si_status > EXIT_BY_SIGNAL && info.si_status < EXIT_BY_SIGNAL + NSIG) {
        worker->outcome.signal_number = info.si_status - EXIT_BY_SIGNAL;
        return fail(worker, NUMALAB_CRASHED);
    }
    worker->outcome.exit_code = is_known ? info.si_status : NUMALAB_UNKNOWN_EXIT_CODE;
    return fail(worker, NUMALAB_EXITED);
}

/* The worker has ended by itself: find out how. */
int numalab_worker_note_death(struct numalab_worker *worker)
{
    siginfo_t info = {0};
    int status;

    take_reports(worker);
    if (worker->output >= 0) drain_output(worker);
    if (worker->keeper > 0) return note_death_in_sandbox(worker);
    if (!worker->is_child) { /* its parent learns how it ended, and does not tell */
        worker->is_reaped = true;
        if (!worker->outcome.has_left) worker->outcome.exit_code = NUMALAB_UNKNOWN_EXIT_CODE;
        worker->outcome.signal_number = worker->outcome.report.signal_number;
        return fail(worker, worker->outcome.has_report ? NUMALAB_CRASHED : NUMALAB_EXITED);
    }
    if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOWAIT) < 0 ||
        waitpid(worker->pid, &status, 0) < 0)
        return numalab_worker_kit_error(worker, "learn how the worker ended", -errno);
    worker->is_reaped = true;
    if (info.si_code == CLD_EXITED) {
        worker->outcome.exit_code = info.si_status;
        return fail(worker, NUMALAB_EXITED);
    }
    worker->outcome.signal_number = info.si_status;
    return fail(worker, NUMALAB_CRASHED);
}

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
    if (got != (ssize_t)sizeof *message) return fail(worker, NUMALAB_BAD_PROTOCOL);
    if (message->error > 0 || message->error < -4095) return fail(worker, NUMALAB_BAD_PROTOCOL);
    return 1;
}

/* Keeps a crash report or a leave; any other message that is no reply is a forgery. */
static int note_report(struct numalab_worker *worker, const struct numalab_message *message)
{
    return keep_report(worker, message) ? 0 : fail(worker, NUMALAB_BAD_PROTOCOL);
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
        return fail(worker, NUMALAB_BAD_PROTOCOL);
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
    if (one->reply->ticket != one->request->ticket) return fail(worker, NUMALAB_BAD_PROTOCOL);
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
        take_reports(worker);
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
    double next_look_s = start_s + 1e-3 * LOOK_MS;
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
        int timeout_ms = LOOK_MS;
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
        if (fds[CANCEL].revents) return fail(first, NUMALAB_CANCELLED);
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
                return fail(worker, NUMALAB_TIMED_OUT);
            }
            if (is_time_to_look && (check_memory(worker) < 0 || check_threads(worker) < 0))
                return -1;
        }
        if (is_time_to_look) next_look_s = now_s + 1e-3 * LOOK_MS;
    }
}

static int exchange(struct numalab_worker *worker, struct numalab_request *request,
                    struct numalab_message *reply, int *descriptor,
                    const struct numalab_watch *watch)
{
    struct numalab_exchange one = {
        .worker = worker, .request = request, .reply = reply, .descriptor = descriptor};
    size_t failed;
    return numalab_exchange(&one, 1, watch, &failed);
}

/* ---- requests ---------------------------------------------------------- */

static int set_address_space_limit(struct numalab_worker *worker)
{
    /* On top of the resident limit, which is what is usually met: asking for
     * absurd amounts gets a null pointer and not the machine's last page. */
    uint64_t bytes = 2 * worker->array_bytes + worker->limits.memory_bytes +
                     process_reserve_bytes +
                     worker->limits.thread_count * thread_reserve_bytes;
    struct rlimit64 old, new;
    if (prlimit64(worker->pid, RLIMIT_AS, NULL, &old) < 0) return -errno;
    new = (struct rlimit64){bytes < old.rlim_max ? bytes : old.rlim_max, old.rlim_max};
    return prlimit64(worker->pid, RLIMIT_AS, &new, NULL) < 0 ? -errno : 0;
}

void numalab_worker_set_arrays(struct numalab_worker *worker, size_t n,
                               const struct numalab_driver *driver, size_t rank_count)
{
    worker->outcome.doing = "allocate the arrays";
    worker->outcome.n = worker->n = n;
    worker->array_count = driver->array_count;
    worker->array_bytes = 0;
    worker->makes_arrays = driver->create_phase != NULL;
    for (size_t i = 0; i < driver->array_count; i++) {
        worker->count[i] = driver->count ? driver->count(n, i, worker->rank, rank_count) : n;
        worker->bytes[i] = worker->count[i] * driver->arrays[i].element_bytes;
        worker->array_bytes += worker->bytes[i];
    }
}

struct numalab_request numalab_allocate_request(const struct numalab_worker *worker,
                                                enum numalab_memory_kind kind)
{
    struct numalab_request request = {.kind = NUMALAB_ALLOCATE,
                                      .memory_kind = kind,
                                      .soft_ends = worker->limits.soft_ends,
                                      .array_count = (uint32_t)worker->array_count,
                                      .n = worker->n};
    memcpy(request.bytes, worker->bytes, sizeof request.bytes);
    return request;
}

struct numalab_request numalab_phase_request(struct numalab_worker *worker, const char *phase)
{
    struct numalab_request request = {.kind = NUMALAB_RUN_PHASE, .n = worker->n};
    worker->outcome.doing = phase;
    snprintf(request.phase, sizeof request.phase, "%s", phase);
    return request;
}

static int map_arrays(struct numalab_worker *worker, enum numalab_memory_kind kind)
{
    struct numalab_request request = numalab_allocate_request(worker, kind);
    struct numalab_message reply;

    if (exchange(worker, &request, &reply, NULL, NULL) < 0) return -1;
    if (reply.error < 0) return numalab_worker_kit_error(worker, "allocate the arrays", reply.error);
    memcpy(worker->address, reply.address, sizeof worker->address);
    return 0;
}

static int run_phase(struct numalab_worker *worker, const char *phase,
                     const struct numalab_watch *watch, struct numalab_message *reply)
{
    struct numalab_request request = numalab_phase_request(worker, phase);

    if (exchange(worker, &request, reply, NULL, watch) < 0) return -1;
    if (reply->error < 0) return numalab_worker_kit_error(worker, phase, reply->error);
    return 0;
}

static int have_arrays_made(struct numalab_worker *worker, const struct numalab_driver *driver)
{
    struct numalab_message reply;

    if (run_phase(worker, driver->create_phase, NULL, &reply) < 0) return -1;
    for (size_t i = 0; i < driver->array_count; i++)
        if (!reply.address[i] || reply.address[i] == UINT64_MAX) {
            worker->outcome.is_map_failed = reply.address[i] != 0;
            return fail(worker, NUMALAB_NO_ARRAY);
        }
    memcpy(worker->address, reply.address, sizeof worker->address);
    return 0;
}

int numalab_worker_allocate(struct numalab_worker *worker, size_t n,
                            const struct numalab_driver *driver,
                            enum numalab_memory_kind kind)
{
    numalab_worker_set_arrays(worker, n, driver, 1);
    int error = worker->limits.any_address_space ? 0 : set_address_space_limit(worker);
    if (error < 0) return numalab_worker_kit_error(worker, "limit the worker's memory", error);
    return worker->makes_arrays ? have_arrays_made(worker, driver)
                                : map_arrays(worker, kind);
}

int numalab_worker_release(struct numalab_worker *worker, const struct numalab_driver *driver)
{
    return driver->destroy_phase ? numalab_worker_run(worker, driver->destroy_phase, NULL) : 0;
}

int numalab_worker_run(struct numalab_worker *worker, const char *phase,
                       const struct numalab_watch *watch)
{
    struct numalab_message reply;
    return run_phase(worker, phase, watch, &reply);
}

int numalab_worker_ask(struct numalab_worker *worker, enum numalab_request_kind kind,
                       struct numalab_message *reply, int *descriptor)
{
    struct numalab_request request = {.kind = kind, .n = worker->n};
    worker->outcome.doing = "prepare the evidence";
    return exchange(worker, &request, reply, descriptor, NULL);
}

/* ---- stop, continue, memory ---------------------------------------------- */

/* Whether every thread of a process stands still; of one that has ended, too. */
static bool all_threads_stopped(pid_t pid)
{
    struct numalab_threads threads;
    bool stopped = true;
    if (numalab_threads_read(pid, &threads) < 0) return true;
    for (size_t i = 0; i < threads.count && stopped; i++)
        stopped = numalab_threads_is_stopped(pid, threads.list[i].id);
    numalab_threads_free(&threads);
    return stopped;
}

int numalab_worker_stop(struct numalab_worker *worker)
{
    if (worker->is_stopped) return 0;
    if (kill(worker->pid, SIGSTOP) < 0)
        return numalab_worker_kit_error(worker, "stop the worker", -errno);

    int looks = 0;
    while (!worker->is_child && !all_threads_stopped(worker->pid)) {
        if (looks > STOP_LOOKS) return fail(worker, NUMALAB_BAD_PROTOCOL);
        if (numalab_worker_is_cancelled(worker)) return fail(worker, NUMALAB_CANCELLED);
        poll(NULL, 0, looks++ < 100 ? 0 : 1);
    }
    while (worker->is_child) {
        siginfo_t info = {0};
        if (waitid(P_PID, (id_t)worker->pid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) < 0)
            return numalab_worker_kit_error(worker, "stop the worker", -errno);
        if (info.si_pid == worker->pid && info.si_code == CLD_STOPPED) break;
        if (info.si_pid == worker->pid && info.si_code != CLD_TRAPPED) return numalab_worker_note_death(worker);
        /* Somebody in the worker may wake it again and again. */
        if (looks > STOP_LOOKS) return fail(worker, NUMALAB_BAD_PROTOCOL);
        if (numalab_worker_is_cancelled(worker)) return fail(worker, NUMALAB_CANCELLED);
        poll(NULL, 0, looks++ < 100 ? 0 : 1); /* most stop within 50 us */
    }
    siginfo_t taken;
    if (worker->is_child) waitid(P_PID, (id_t)worker->pid, &taken, WSTOPPED | WNOHANG);
    worker->is_stopped = true;
    return 0;
}

bool numalab_worker_is_cancelled(const struct numalab_worker *worker)
{
    struct pollfd cancel = {.fd = worker->cancel_fd, .events = POLLIN};
    return poll(&cancel, 1, 0) > 0;
}

int numalab_worker_continue(struct numalab_worker *worker)
{
    if (!worker->is_stopped) return 0;
    if (kill(worker->pid, SIGCONT) < 0)
        return numalab_worker_kit_error(worker, "continue the worker", -errno);
    worker->is_stopped = false;
    return 0;
}

/* Why the worker's memory can't be reached: it was ended from outside (memory ran out,
 * most often), or its kernel unmapped or protected an array. */
static int note_lost_memory(struct numalab_worker *worker, const char *doing, int error)
{
    enum { DEATH_MS = 10000 }; /* once its memory is gone, the rest is sure to follow */
    struct pollfd death = {.fd = worker->pid_fd, .events = POLLIN};
    if (error == ESRCH && poll(&death, 1, DEATH_MS) > 0) return numalab_worker_note_death(worker);
    if (error == EFAULT) return fail(worker, NUMALAB_ARRAY_GONE);
    return numalab_worker_kit_error(worker, doing, -error);
}

int numalab_worker_read(struct numalab_worker *worker, uint64_t address, void *buffer,
                        size_t bytes)
{
    struct iovec here = {buffer, bytes}, there = {(void *)(uintptr_t)address, bytes};
    ssize_t got = process_vm_readv(worker->pid, &here, 1, &there, 1, 0);
    if (got == (ssize_t)bytes) return 0;
    return note_lost_memory(worker, "read the results", got < 0 ? errno : EFAULT);
}

int numalab_worker_write(struct numalab_worker *worker, uint64_t address,
                         const void *buffer, size_t bytes)
{
    struct iovec here = {(void *)(uintptr_t)buffer, bytes};
    struct iovec there = {(void *)(uintptr_t)address, bytes};
    ssize_t put = process_vm_writev(worker->pid, &here, 1, &there, 1, 0);
    if (put == (ssize_t)bytes) return 0;
    return note_lost_memory(worker, "change the inputs", put < 0 ? errno : EFAULT);
}

/* ---- end --------------------------------------------------------------- */

/* Ends a sandbox and with it all that is inside; returns once the worker is gone. */
static void end_keeper(struct numalab_worker *worker)
{
    kill(worker->keeper, SIGKILL);
    while (waitpid(worker->keeper, NULL, 0) < 0 && errno == EINTR) continue;
    struct pollfd gone = {.fd = worker->pid_fd, .events = POLLIN};
    if (gone.fd >= 0) poll(&gone, 1, SANDBOX_END_MS);
    close(worker->keeper_fd);
    worker->keeper = 0;
    worker->keeper_fd = -1;
}

void numalab_worker_end(struct numalab_worker *worker)
{
    if (worker->pid > 0 && !worker->is_child)
        syscall(SYS_pidfd_send_signal, worker->pid_fd, SIGKILL, NULL, 0);
    if (worker->keeper > 0) end_keeper(worker);
    if (worker->pid > 0) {
        if (worker->is_child) kill(-worker->pid, SIGKILL); /* its whole session */
        if (worker->is_child && !worker->is_reaped) {
            kill(worker->pid, SIGKILL);
            while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) continue;
        }
        /* LLVM's runtime registers itself in a file that a killed process
         * leaves behind. */
        char path[96];
        snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d",
                 (int)worker->pid, (int)getuid());
        unlink(path);
    }
    if (worker->output >= 0) drain_output(worker);
    const int descriptors[] = {worker->pid_fd, worker->channel, worker->output};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++)
        if (descriptors[i] >= 0) close(descriptors[i]);
    worker->pid = worker->pid_fd = worker->channel = worker->output = -1;
}
