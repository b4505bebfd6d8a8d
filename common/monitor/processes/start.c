#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "environment.h"
#include "heartbeat.h"
#include "worker_internal.h"
#include "loopback.h"
#include "memory_files.h"
#include "sandbox.h"
#include "monitor/memory.h"
#include "system_stores.h"
#include "worker_process.h"

/* How long a sandbox may take to come up on a busy node. */
static const double sandbox_start_limit_s = 60.0;

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

/* What the process that becomes a worker has of the monitor's. */
struct given {
    int channel; /* -1 for a launcher, which has none; outside of a sandbox, which has no network,
                    it gets one of its own where the system allows that */
    int output;
    int rules; /* of files, for a worker that no sandbox keeps from them; else -1 */
    pid_t parent;
};

static void become_worker(const char *const *command, char *const *environment, struct given given,
                          const struct numalab_limits *limits)
{
    sigset_t none;
    int input = open("/dev/null", O_RDONLY);

    setsid(); /* Ctrl-C reaches the monitor, which decides */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != given.parent) _exit(126);
    write_text("/proc/self/oom_score_adj", "1000"); /* rather than the grader */
    numalab_refuse_memory_files(given.rules);       /* before the channel takes its number */
    /* dup2 clears close-on-exec, except where both are the same descriptor. */
    if (input < 0 || dup2(input, 0) < 0 || dup2(given.output, 1) < 0 || dup2(given.output, 2) < 0)
        _exit(126);
    if (given.channel == NUMALAB_CHANNEL_FD)
        fcntl(given.channel, F_SETFD, 0);
    else if (given.channel >= 0 && dup2(given.channel, NUMALAB_CHANNEL_FD) < 0)
        _exit(126);
    if (given.channel < 0) numalab_enter_loopback();

    limit(RLIMIT_CORE, 0);
    /* Where it may have them, as in the mode madvise even where everybody gets them unasked; Linux
     * before 6.18 refuses that, and leaves it to the system's mode. */
    prctl(PR_SET_THP_DISABLE, 1, limits->huge_pages ? NUMALAB_THP_EXCEPT_ADVISED : 0, 0, 0);
    /* Where the system has filters; in a sandbox, which needs them, confine does that. */
    if (limits->notes_stores && !limits->sandbox) numalab_refuse_system_stores();
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execvpe(command[0], (char *const *)(uintptr_t)command, environment);
    _exit(127);
}

/* Starts command as a child. A launcher has a channel in a sandbox only, where it says hello. */
static int spawn(struct numalab_worker *worker, const char *const *command, bool is_launcher,
                 const struct numalab_limits *limits, int cancel_fd)
{
    const bool has_channel = !is_launcher || limits->sandbox;
    *worker = numalab_no_worker;
    worker->kind = NUMALAB_CHILD;
    worker->limits = *limits;
    worker->cancel_fd = cancel_fd;
    worker->outcome.doing = "start";

    int channel[2] = {-1, -1}, output[2];
    if (has_channel && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
        return numalab_worker_kit_error(worker, "open the channel", -errno);
    worker->channel = channel[0];
    const int on = 1; /* who says hello */
    if (!is_launcher && limits->sandbox &&
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
    /* Another user could not open it by name (/dev/stdout). */
    const uid_t user = numalab_sandbox_user(limits->sandbox);
    if (user != getuid() && fchown(output[1], user, (gid_t)-1) < 0) {
        int error = -errno;
        if (has_channel) close(channel[1]);
        close(output[1]);
        return numalab_worker_kit_error(worker, "open the output", error);
    }

    const struct given given = {
        .channel = channel[1],
        .output = output[1],
        .rules = is_launcher || limits->sandbox ? -1 : numalab_memory_files_rules(),
        .parent = getpid()};
    char **environment =
        numalab_environment_make(limits->variables, limits->sandbox ? numalab_sandbox_needs : NULL);
    worker->pid = environment ? fork() : -1;
    if (worker->pid == 0) become_worker(command, environment, given, limits);
    int error = -errno;
    if (given.rules >= 0) close(given.rules);
    free(environment);
    if (has_channel) close(channel[1]);
    close(output[1]);
    if (worker->pid < 0) return numalab_worker_kit_error(worker, "start the worker", error);

    worker->pid_fd = (int)syscall(SYS_pidfd_open, worker->pid, 0);
    if (worker->pid_fd < 0) return numalab_worker_kit_error(worker, "watch the worker", -errno);
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
    struct msghdr envelope = {.msg_iov = &part,
                              .msg_iovlen = 1,
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
    worker->pid = sender.pid;
    worker->pid_fd = (int)syscall(SYS_pidfd_open, sender.pid, 0);
    /* Gone already: its sandbox goes with it. */
    if (worker->pid_fd < 0 && errno == ESRCH) worker->pid_fd = dup(worker->sandbox_fd);
    if (worker->pid_fd < 0) return numalab_worker_kit_error(worker, "watch the worker", -errno);
    return 1;
}

/* What was started is the sandbox: waits for the worker inside it. */
static int wait_for_hello(struct numalab_worker *worker)
{
    struct numalab_heartbeat *const heartbeat = worker->limits.heartbeat;
    const double deadline_s = numalab_heartbeat_now_s(heartbeat) + sandbox_start_limit_s;
    worker->kind = NUMALAB_SANDBOXED;
    worker->sandbox_pid = worker->pid;
    worker->sandbox_fd = worker->pid_fd;
    worker->pid = worker->pid_fd = -1;
    for (int came = 0; came == 0;) {
        struct pollfd fds[] = {{.fd = worker->channel, .events = POLLIN},
                               {.fd = worker->sandbox_fd, .events = POLLIN},
                               {.fd = worker->cancel_fd, .events = POLLIN}};
        poll(fds, sizeof fds / sizeof fds[0], NUMALAB_POLL_MS);
        came = take_hello(worker);
        if (came != 0) return came < 0 ? -1 : 0;
        if (fds[1].revents) { /* with its reason on the output, which the record keeps */
            numalab_worker_drain_output(worker);
            return numalab_worker_kit_error(worker, "start the sandbox", -ECHILD);
        }
        if (numalab_worker_is_cancelled(worker))
            return numalab_worker_fail_as(worker, NUMALAB_CANCELLED);
        if (numalab_heartbeat_now_s(heartbeat) > deadline_s)
            return numalab_worker_kit_error(worker, "start the sandbox", -ETIMEDOUT);
    }
    return 0;
}

static int spawn_in_sandbox(struct numalab_worker *worker, const char *const *command,
                            const struct numalab_limits *limits, int cancel_fd)
{
    const char **words = numalab_sandbox_command(limits, command, 0, NULL);
    if (!words) {
        *worker = numalab_no_worker;
        return numalab_worker_kit_error(worker, "start the sandbox", -ENOMEM);
    }
    int started = spawn(worker, words, false, limits, cancel_fd);
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
        *worker = numalab_no_worker;
        return numalab_worker_kit_error(worker, "find the worker", error);
    }
    return limits->sandbox ? spawn_in_sandbox(worker, command, limits, cancel_fd)
                           : spawn(worker, command, false, limits, cancel_fd);
}

int numalab_worker_launch(struct numalab_worker *worker, const char *const *command,
                          const struct numalab_limits *limits, int cancel_fd)
{
    return spawn(worker, command, true, limits, cancel_fd);
}
