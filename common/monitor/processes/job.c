#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "environment.h"
#include "request_loop.h"
#include "heartbeat.h"
#include "process_tree.h"
#include "worker_internal.h"
#include "message.h"
#include "monitor/proc.h"
#include "requests.h"
#include "sandbox.h"
#include "spawn_supervisor.h"

/* How long ranks may take to be gone once they are killed, and what they printed to arrive: on a
 * busy node some hundred milliseconds, and seconds where processes stand that long. */
enum { NAME_BYTES = 64 };
static const double hello_limit_s = 5.0, end_limit_s = 10.0, output_limit_s = 10.0;

/* Sixteen ranks on two cores take some seconds to come up. */
static const double start_limit_s = 60.0;

/* UCX, on which MPICH is built, would catch crashes before the worker's own report. */
static const char ucx_signals[] = "UCX_ERROR_SIGNALS";

/* Each rank of MPICH's looks for network and other devices to bind itself near to them, which is
 * half of MPI_Init; ranks on one node need none. PUs, caches and NUMA nodes are found as ever. */
static const char hwloc_components[] = "HWLOC_COMPONENTS";
static const char no_devices[] = "-linuxio,-pci,-opencl,-cuda,-nvml,-rsmi,-levelzero,-gl";

/* Outside of a sandbox, where a host's name leads to the interface that a launcher has not. */
static const char hydra_interface[] = "HYDRA_IFACE";

int numalab_job_fail(struct numalab_job *job, struct numalab_worker *worker)
{
    job->failed = worker;
    return -1;
}

int numalab_job_kit_error(struct numalab_job *job, const char *doing, int error)
{
    numalab_worker_kit_error(&job->launcher, doing, error);
    return numalab_job_fail(job, &job->launcher);
}

/* While ranks come up: no phase of a kernel has run yet, but its constructors have, and how many
 * ranks there are may be a student's choice. */
static int fail_obstructed(struct numalab_job *job, const char *doing, int error)
{
    numalab_worker_fail(&job->launcher, (struct numalab_outcome){.kind = NUMALAB_OBSTRUCTED,
                                                                 .doing = doing,
                                                                 .obstructed = {error}});
    return numalab_job_fail(job, &job->launcher);
}

static int set_up(struct numalab_job *job, size_t rank_count)
{
    *job = (struct numalab_job){.listener = -1, .launcher = numalab_no_worker};
    if (rank_count < 1 || rank_count > NUMALAB_MAX_RANKS)
        return numalab_job_kit_error(job, "start so many ranks", -EINVAL);
    job->rank = calloc(rank_count, sizeof *job->rank);
    if (!job->rank) return numalab_job_kit_error(job, "start the ranks", -ENOMEM);
    job->rank_count = rank_count;
    for (size_t i = 0; i < rank_count; i++) {
        job->rank[i] = numalab_no_worker;
        job->rank[i].rank = i;
    }
    return 0;
}

int numalab_job_start_worker(struct numalab_job *job, const char *program,
                             const struct numalab_limits *limits, int cancel_fd)
{
    if (set_up(job, 1) < 0) return -1;
    if (numalab_worker_start(&job->rank[0], program, limits, cancel_fd) == 0) return 0;
    return numalab_job_fail(job, &job->rank[0]);
}

/* Listens at a path, which goes once all have come: the abstract namespace is a network's, and
 * ranks have another network. */
static int open_listener(struct numalab_job *job, char name[NAME_BYTES])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int length = snprintf(name, NAME_BYTES, "/tmp/numalab-job-%d-%.0f", (int)getpid(),
                                1e9 * numalab_now_s());
    memcpy(address.sun_path, name, (size_t)length);
    job->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (job->listener < 0) return -errno;
    const socklen_t bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)length);
    if (bind(job->listener, (const struct sockaddr *)&address, bytes) < 0 ||
        listen(job->listener, NUMALAB_MAX_RANKS) < 0)
        return -errno;
    /* Who is another user may not connect to it otherwise. */
    const uid_t user = numalab_sandbox_user(job->rank[0].limits.sandbox);
    if (user != getuid() && chown(name, user, (gid_t)-1) < 0) return -errno;
    return 0;
}

static struct numalab_heartbeat *heartbeat_of(const struct numalab_job *job)
{
    return job->launcher.limits.heartbeat;
}

/* Of one process there is one rank, whatever it says. */
static bool has_rank(const struct numalab_job *job, pid_t pid)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->rank[i].pid == pid) return true;
    return false;
}

/* Takes one connection: of a process of the ranks' user that says which rank it is, and is told
 * where to print. */
static int accept_rank(struct numalab_job *job, int output, size_t *connected)
{
    static const struct numalab_message answer = {.kind = NUMALAB_HELLO};
    struct ucred peer;
    socklen_t peer_bytes = sizeof peer;
    struct numalab_message hello;

    int channel = accept4(job->listener, NULL, NULL, SOCK_CLOEXEC);
    if (channel < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    const bool is_hello = numalab_heartbeat_wait(heartbeat_of(job), channel, hello_limit_s) &&
                          recv(channel, &hello, sizeof hello, 0) == (ssize_t)sizeof hello &&
                          hello.kind == NUMALAB_HELLO;
    if (!is_hello || hello.ticket >= job->rank_count || job->rank[hello.ticket].pid > 0 ||
        getsockopt(channel, SOL_SOCKET, SO_PEERCRED, &peer, &peer_bytes) < 0 ||
        peer.uid != numalab_sandbox_user(job->rank[0].limits.sandbox) || has_rank(job, peer.pid)) {
        close(channel); /* nobody we wait for */
        return 0;
    }
    struct numalab_worker *worker = &job->rank[hello.ticket];
    worker->channel = channel;
    worker->pid = peer.pid;
    worker->pid_fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
    if (worker->pid_fd < 0) return -errno;
    ++*connected;
    const int error = numalab_send_message(channel, &answer, output);
    return error == -EPIPE ? 0 : error; /* gone already, as will be seen */
}

/* output: what they are to print to. */
static int wait_for_ranks(struct numalab_job *job, int output)
{
    const double deadline_s = numalab_heartbeat_now_s(heartbeat_of(job)) + start_limit_s;
    size_t connected = 0;
    while (connected < job->rank_count) {
        struct pollfd fds[] = {{.fd = job->listener, .events = POLLIN},
                               {.fd = job->launcher.pid_fd, .events = POLLIN},
                               {.fd = job->launcher.cancel_fd, .events = POLLIN}};
        poll(fds, sizeof fds / sizeof fds[0], NUMALAB_POLL_MS);
        if (fds[0].revents) {
            int error = accept_rank(job, output, &connected);
            if (error < 0) return fail_obstructed(job, "connect to a rank", error);
        }
        if (numalab_worker_check_output(&job->launcher) < 0)
            return numalab_job_fail(job, &job->launcher);
        if (fds[1].revents) {
            numalab_worker_note_death(&job->launcher);
            return fail_obstructed(job, "start the ranks with mpiexec", -ECHILD);
        }
        if (numalab_worker_is_cancelled(&job->launcher)) {
            numalab_worker_fail_as(&job->launcher, NUMALAB_CANCELLED);
            return numalab_job_fail(job, &job->launcher);
        }
        if (numalab_heartbeat_now_s(heartbeat_of(job)) > deadline_s)
            return fail_obstructed(job, "start all ranks", -ETIMEDOUT);
    }
    close(job->listener);
    job->listener = -1;
    return 0;
}

/* Of the pipe to which the launcher prints, another end to write to, for the ranks. */
static int open_output(const struct numalab_job *job)
{
    char path[NAME_BYTES];
    snprintf(path, sizeof path, "/proc/self/fd/%d", job->launcher.output);
    const int output = open(path, O_WRONLY | O_CLOEXEC);
    return output < 0 ? -errno : output;
}

static int connect_ranks(struct numalab_job *job)
{
    const int output = open_output(job);
    if (output < 0) return numalab_job_kit_error(job, "open the ranks' output", output);
    const int error = wait_for_ranks(job, output);
    close(output);
    return error;
}

/* PUs that ranks may use: a batch job or a container may have less than the machine. */
static size_t usable_pus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) < 0) return (size_t)sysconf(_SC_NPROCESSORS_ONLN);
    return (size_t)CPU_COUNT(&set);
}

/* Ranks that share cores let others run where they wait, which two may have to do even where there
 * is a core for each: see worker/oversubscribed.c. */
static uint32_t modes_of(const struct numalab_limits *limits, size_t rank_count)
{
    const bool shares_cores = !limits->keeps_core || rank_count > usable_pus();
    return limits->modes | (shares_cores ? NUMALAB_YIELDS : 0);
}

/* What ranks are told by their environment. */
static int add_variables(struct numalab_variables *variables, const struct numalab_limits *limits,
                         const char *listener_path)
{
    if (limits->variables) *variables = *limits->variables;
    int error = numalab_variables_set(variables, NUMALAB_JOB_VARIABLE, listener_path);
    if (!error) error = numalab_variables_set(variables, ucx_signals, "");
    if (!error) error = numalab_variables_set(variables, hwloc_components, no_devices);
    if (!error && !limits->sandbox) error = numalab_variables_set(variables, hydra_interface, "lo");
    return error;
}

/* In a sandbox for all of them, if there is to be one. */
static int launch(struct numalab_job *job, const char *const *command, const char *listener_path)
{
    struct numalab_limits limits = job->rank[0].limits;
    struct numalab_variables variables = {0};
    const int cancel_fd = job->launcher.cancel_fd;
    const int error = add_variables(&variables, &limits, listener_path);
    if (error < 0) return numalab_worker_kit_error(&job->launcher, "set the environment", error);
    limits.variables = &variables;
    if (!limits.sandbox) return numalab_worker_launch(&job->launcher, command, &limits, cancel_fd);
    const char **words = numalab_sandbox_command(&limits, command, job->rank_count, listener_path);
    if (!words) return numalab_worker_kit_error(&job->launcher, "start the sandbox", -ENOMEM);
    const int started = numalab_worker_launch(&job->launcher, words, &limits, cancel_fd);
    free(words);
    if (started < 0) return -1;
    job->supervisor = numalab_spawn_supervisor_start(job->launcher.channel);
    if (job->supervisor) return 0;
    return numalab_worker_kit_error(&job->launcher, "start the sandbox", -ENOMEM);
}

int numalab_job_launch(struct numalab_job *job, const char *const *command, size_t rank_count,
                       const struct numalab_limits *limits, int cancel_fd)
{
    char name[NAME_BYTES];
    if (set_up(job, rank_count) < 0) return -1;
    job->launcher.cancel_fd = cancel_fd;
    for (size_t i = 0; i < rank_count; i++) {
        job->rank[i].kind = NUMALAB_RANK;
        job->rank[i].cancel_fd = cancel_fd;
        job->rank[i].limits = *limits;
        job->rank[i].limits.modes = modes_of(limits, rank_count);
        job->rank[i].outcome.doing = "start";
    }
    int error = open_listener(job, name);
    if (error < 0) return numalab_job_kit_error(job, "open the job's socket", error);

    memcpy(job->listener_path, name, sizeof name);
    return launch(job, command, name) < 0 ? numalab_job_fail(job, &job->launcher) : 0;
}

static void stop_supervisor(struct numalab_job *job)
{
    numalab_spawn_supervisor_stop(job->supervisor);
    job->supervisor = NULL;
}

static void remove_listener(struct numalab_job *job)
{
    if (job->listener_path[0]) unlink(job->listener_path);
    job->listener_path[0] = '\0';
}

static bool has_only_ranks(const struct numalab_job *job)
{
    return numalab_process_tree_has_only_ranks(job->launcher.pid, job->rank, job->rank_count);
}

int numalab_job_fail_forked(struct numalab_job *job, struct numalab_worker *worker)
{
    numalab_worker_fail(worker, (struct numalab_outcome){
                                    .kind = NUMALAB_BAD_PROTOCOL,
                                    .bad_protocol = {.disturbance = NUMALAB_STARTED_PROCESS,
                                                     /* The launcher does so for any of them. */
                                                     .is_unattributed = job->rank_count > 1}});
    return numalab_job_fail(job, worker);
}

int numalab_job_check_processes(struct numalab_job *job)
{
    const bool is_launched = job->launcher.pid > 0;
    if (is_launched && job->has_only_ranks && !has_only_ranks(job))
        return numalab_job_fail_forked(job, &job->rank[0]);
    for (size_t i = 0; i < job->rank_count && !job->rank[i].limits.sandbox; i++)
        if (numalab_proc_unknown_child(job->rank[i].pid, NULL, 0))
            return numalab_job_fail_forked(job, &job->rank[i]);
    return 0;
}

int numalab_job_connect(struct numalab_job *job)
{
    if (job->launcher.pid <= 0) return 0; /* one worker, which needs no introduction */
    const bool have_come = connect_ranks(job) == 0;
    remove_listener(job);
    stop_supervisor(job);
    if (!have_come) return -1;
    job->has_only_ranks = has_only_ranks(job);
    if (job->launcher.limits.sandbox && !job->has_only_ranks)
        return numalab_job_fail_forked(job, &job->rank[0]);

    /* It is looked at while the ranks work. */
    struct numalab_worker *first = &job->rank[0], *launcher = &job->launcher;
    first->output = launcher->output;
    first->printed_bytes = launcher->printed_bytes;
    memcpy(first->kept_output, launcher->kept_output, sizeof first->kept_output);
    launcher->output = -1;
    return 0;
}

/* One request to each rank, and all replies. */
static int exchange_with_all(struct numalab_job *job, struct numalab_request *request,
                             struct numalab_message *reply)
{
    struct numalab_request_exchange list[NUMALAB_MAX_RANKS];
    size_t failed;
    for (size_t i = 0; i < job->rank_count; i++)
        list[i] = (struct numalab_request_exchange){
            .worker = &job->rank[i], .request = &request[i], .reply = &reply[i]};
    if (numalab_exchange_requests(list, job->rank_count, NULL, &failed) < 0)
        return numalab_job_fail(job, &job->rank[failed]);
    job->elapsed_s = 0.0;
    for (size_t i = 0; i < job->rank_count; i++) {
        struct numalab_worker *worker = &job->rank[i];
        if (worker->elapsed_s > job->elapsed_s) job->elapsed_s = worker->elapsed_s;
        if (reply[i].error < 0) {
            numalab_worker_fail_obstructed(worker, worker->outcome.doing, reply[i].error);
            return numalab_job_fail(job, worker);
        }
        if (!numalab_worker_keeps_arrays(worker, &reply[i])) {
            numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
            return numalab_job_fail(job, worker);
        }
    }
    return 0;
}

int numalab_job_allocate(struct numalab_job *job, size_t n, const struct numalab_driver *driver,
                         enum numalab_memory_kind kind)
{
    struct numalab_request request[NUMALAB_MAX_RANKS];
    struct numalab_message reply[NUMALAB_MAX_RANKS];
    /* Where memory can be limited, and a kernel may make it. */
    if (job->rank[0].kind != NUMALAB_RANK) {
        if (numalab_worker_allocate(&job->rank[0], n, driver, kind) == 0) return 0;
        return numalab_job_fail(job, &job->rank[0]);
    }
    for (size_t i = 0; i < job->rank_count; i++) {
        numalab_worker_set_arrays(&job->rank[i], n, driver, job->rank_count);
        request[i] = numalab_allocate_request(&job->rank[i], kind);
    }
    if (exchange_with_all(job, request, reply) < 0) return -1;
    for (size_t i = 0; i < job->rank_count; i++)
        memcpy(job->rank[i].address, reply[i].address, sizeof reply[i].address);
    return 0;
}

int numalab_job_run(struct numalab_job *job, const char *phase)
{
    struct numalab_request request[NUMALAB_MAX_RANKS];
    struct numalab_message reply[NUMALAB_MAX_RANKS];
    for (size_t i = 0; i < job->rank_count; i++)
        request[i] = numalab_phase_request(&job->rank[i], phase);
    return exchange_with_all(job, request, reply);
}

int numalab_job_stop(struct numalab_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (numalab_worker_stop(&job->rank[i]) < 0) return numalab_job_fail(job, &job->rank[i]);
    return 0;
}

int numalab_job_time(struct numalab_job *job, const char *phase)
{
    if (numalab_job_run(job, phase) < 0) return -1;
    /* All of them before the clock: a thread could go on behind its rank's answer. */
    for (size_t i = 0; i < job->rank_count; i++)
        if (numalab_worker_signal(&job->rank[i], SIGSTOP) < 0) {
            numalab_worker_fail_obstructed(&job->rank[i], "stop the worker", -errno);
            return numalab_job_fail(job, &job->rank[i]);
        }
    job->elapsed_s = numalab_now_s() - job->rank[0].started_at_s;
    return numalab_job_stop(job);
}

int numalab_job_continue(struct numalab_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (numalab_worker_continue(&job->rank[i]) < 0) return numalab_job_fail(job, &job->rank[i]);
    return 0;
}

int numalab_job_stop_again(struct numalab_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (numalab_worker_stop_again(&job->rank[i]) < 0)
            return numalab_job_fail(job, &job->rank[i]);
    return 0;
}

int numalab_job_begin_standstill(struct numalab_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (numalab_worker_begin_standstill(&job->rank[i]) < 0)
            return numalab_job_fail(job, &job->rank[i]);
    return 0;
}

int numalab_job_check_standstill(struct numalab_job *job)
{
    for (size_t i = 0; i < job->rank_count; i++)
        if (numalab_worker_check_standstill(&job->rank[i]) < 0)
            return numalab_job_fail(job, &job->rank[i]);
    return 0;
}

/* What the ranks printed ends when they and the launcher do. */
static void drain_output(struct numalab_job *job)
{
    struct numalab_worker *first = &job->rank[0];
    struct numalab_heartbeat *const heartbeat = heartbeat_of(job);
    const double deadline_s = numalab_heartbeat_now_s(heartbeat) + output_limit_s;
    while (first->output >= 0 && numalab_heartbeat_now_s(heartbeat) < deadline_s) {
        struct pollfd words = {.fd = first->output, .events = POLLIN};
        if (poll(&words, 1, NUMALAB_POLL_MS) > 0 && numalab_worker_check_output(first) < 0) return;
    }
}

void numalab_job_kill(struct numalab_job *job)
{
    const bool is_launched = job->rank_count && job->launcher.pid > 0;
    /* Where nothing went wrong, what the launcher says of the ranks' end is none of theirs. */
    if (is_launched && !job->failed && job->rank[0].output >= 0) {
        numalab_worker_check_output(&job->rank[0]);
        if (job->rank[0].output >= 0) close(job->rank[0].output);
        job->rank[0].output = -1;
    }
    /* The ranks first: a launcher that sees the others go would say so at length. A sandbox is
     * ended as a whole, later. */
    for (size_t i = 0; i < job->rank_count; i++)
        if (job->rank[i].pid > 0 && job->rank[i].sandbox_pid <= 0)
            numalab_worker_signal(&job->rank[i], SIGKILL);
}

void numalab_job_end(struct numalab_job *job)
{
    const bool is_launched = job->rank_count && job->launcher.pid > 0;
    stop_supervisor(job);
    numalab_job_kill(job);
    if (is_launched) {
        const struct numalab_outcome kept = job->rank[0].outcome;
        drain_output(job);
        job->rank[0].outcome = kept;
    }
    if (job->rank_count) numalab_worker_end(&job->launcher);
    for (size_t i = 0; i < job->rank_count; i++) {
        if (job->rank[i].pid_fd >= 0 && is_launched)
            numalab_heartbeat_wait(heartbeat_of(job), job->rank[i].pid_fd, end_limit_s);
        numalab_worker_end(&job->rank[i]);
    }
    if (job->rank_count && job->listener >= 0) close(job->listener);
    job->listener = -1;
    remove_listener(job);
}

void numalab_job_free(struct numalab_job *job)
{
    numalab_job_end(job);
    free(job->rank);
    *job = (struct numalab_job){.listener = -1, .launcher = numalab_no_worker};
}
