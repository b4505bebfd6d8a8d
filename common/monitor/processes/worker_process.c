#define _GNU_SOURCE
#include "worker_process.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "heartbeat.h"
#include "worker_internal.h"
#include "monitor/memfd_accounting.h"
#include "monitor/proc.h"
#include "remote_memory.h"
#include "sandbox.h"

/* Of looks at a worker's memory: so often at what is not resident. */
enum { CHECKS_PER_MEMFD_SCAN = 8 };

/* How long a sandbox may take to be gone on a busy node. */
static const double sandbox_end_s = 10.0;

/* A shell's way to say by which signal a program has ended, and bubblewrap's. */
enum { EXIT_BY_SIGNAL = 128 };

const struct numalab_worker numalab_no_worker = {
    .pid = -1, .pid_fd = -1, .channel = -1, .output = -1, .cancel_fd = -1, .sandbox_fd = -1};

double numalab_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int numalab_worker_fail(struct numalab_worker *worker, struct numalab_outcome outcome)
{
    if (!outcome.doing) outcome.doing = worker->outcome.doing;
    outcome.n = worker->outcome.n;
    worker->outcome = outcome;
    return -1;
}

int numalab_worker_fail_as(struct numalab_worker *worker, enum numalab_outcome_kind kind)
{
    return numalab_worker_fail(worker, (struct numalab_outcome){.kind = kind});
}

int numalab_worker_kit_error(struct numalab_worker *worker, const char *doing, int error)
{
    return numalab_worker_fail(
        worker,
        (struct numalab_outcome){.kind = NUMALAB_KIT_ERROR, .doing = doing, .kit_error = {error}});
}

/* Once its memory, threads or folder of /proc are gone, the rest is sure to follow. */
static const double death_s = 10.0;

/* Whether a worker has ended, or is about to: error, as of obstructed. */
static bool is_ending(const struct numalab_worker *worker, int error)
{
    struct pollfd end = {.fd = worker->pid_fd, .events = POLLIN};
    if (worker->pid_fd < 0) return false;
    if (poll(&end, 1, 0) > 0) return true;
    return (error == -ESRCH || error == -ENOENT) &&
           numalab_heartbeat_wait(worker->limits.heartbeat, worker->pid_fd, death_s);
}

int numalab_worker_fail_obstructed(struct numalab_worker *worker, const char *doing, int error)
{
    if (is_ending(worker, error)) return numalab_worker_note_death(worker);
    return numalab_worker_fail(worker, (struct numalab_outcome){.kind = NUMALAB_OBSTRUCTED,
                                                                .doing = doing,
                                                                .obstructed = {error}});
}

/* ---- what happens while it runs ------------------------------------------ */

void numalab_worker_drain_output(struct numalab_worker *worker)
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
    numalab_worker_drain_output(worker);
    if (worker->printed_bytes <= worker->limits.output_bytes) return 0;
    return numalab_worker_fail(
        worker, (struct numalab_outcome){.kind = NUMALAB_TOO_MUCH_OUTPUT,
                                         .too_much_output = {worker->limits.output_bytes}});
}

/* *mapped_bytes: how much of it belongs to files, of memory or not. */
static uint64_t resident_bytes(pid_t pid, uint64_t *mapped_bytes)
{
    const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long total = 0, resident = 0, mapped = 0;
    *mapped_bytes = 0;
    FILE *file = numalab_proc_open(pid, "statm");
    if (!file) return 0;
    if (fscanf(file, "%llu %llu %llu", &total, &resident, &mapped) != 3) resident = mapped = 0;
    fclose(file);
    *mapped_bytes = mapped * page_bytes;
    return resident * page_bytes;
}

int numalab_worker_check_memory(struct numalab_worker *worker)
{
    uint64_t allowed = worker->array_bytes + worker->limits.memory_bytes;
    uint64_t mapped_bytes;
    uint64_t resident = resident_bytes(worker->pid, &mapped_bytes);
    /* Descriptor by descriptor, which takes longer: so not at each look. */
    if (worker->memory_checks++ % CHECKS_PER_MEMFD_SCAN == 0)
        worker->memfd_bytes = numalab_memfd_bytes(worker->pid, mapped_bytes);
    resident += worker->memfd_bytes;
    if (resident <= allowed) return 0;
    return numalab_worker_fail(worker,
                               (struct numalab_outcome){.kind = NUMALAB_OUT_OF_MEMORY,
                                                        .out_of_memory = {resident, allowed}});
}

/* confine sets a limit, too, which does not count for root. */
int numalab_worker_check_threads(struct numalab_worker *worker)
{
    struct stat folder;
    char path[64];
    if (!worker->limits.sandbox) return 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)worker->pid);
    if (stat(path, &folder) < 0) return 0;              /* its process descriptor tells */
    const size_t threads = (size_t)folder.st_nlink - 2; /* without . and .. */
    const size_t most = numalab_sandbox_most_threads(&worker->limits, 0);
    if (threads <= most) return 0;
    return numalab_worker_fail(worker,
                               (struct numalab_outcome){.kind = NUMALAB_TOO_MANY_THREADS,
                                                        .too_many_threads = {threads, most}});
}

/* What a worker says before it ends: that it crashed, or as a rank that it leaves. */
bool numalab_worker_keep_report(struct numalab_worker *worker,
                                const struct numalab_message *message)
{
    if (message->kind == NUMALAB_FAULT) {
        worker->has_crash_report = true;
        worker->crash_report = *message;
        return true;
    }
    if (message->kind != NUMALAB_LEAVE || worker->kind != NUMALAB_RANK) return false;
    worker->has_left = true;
    worker->leave_code = (int)message->ticket;
    return true;
}

int numalab_worker_signal(const struct numalab_worker *worker, int number)
{
    return (int)syscall(SYS_pidfd_send_signal, worker->pid_fd, number, NULL, 0);
}

/* A channel holds no more (net.unix.max_dgram_qlen, 10 as a rule), and its end, read once more,
 * looks like an empty message. */
enum { MESSAGES_LEFT = 512 };

/* What it has said stays in the channel when it has ended. */
void numalab_worker_take_reports(struct numalab_worker *worker)
{
    struct numalab_message message;
    for (int i = 0; i < MESSAGES_LEFT; i++) {
        const ssize_t got = recv(worker->channel, &message, sizeof message, MSG_DONTWAIT);
        if (got < 0 && errno != EINTR) return;
        if (got == (ssize_t)sizeof message) numalab_worker_keep_report(worker, &message);
    }
}

static int fail_crashed(struct numalab_worker *worker, int signal_number)
{
    return numalab_worker_fail(
        worker, (struct numalab_outcome){
                    .kind = NUMALAB_CRASHED,
                    .crashed = {signal_number, worker->has_crash_report, worker->crash_report}});
}

static int fail_exited(struct numalab_worker *worker, int exit_code)
{
    return numalab_worker_fail(
        worker, (struct numalab_outcome){.kind = NUMALAB_EXITED,
                                         .exited = {exit_code, worker->has_left, false}});
}

/* How the worker inside a sandbox has ended is what the sandbox then ends with. */
static int note_death_in_sandbox(struct numalab_worker *worker)
{
    siginfo_t info = {0};
    worker->is_reaped = true;
    if (worker->has_crash_report) return fail_crashed(worker, worker->crash_report.signal_number);
    const bool is_known =
        numalab_heartbeat_wait(worker->limits.heartbeat, worker->sandbox_fd, sandbox_end_s) &&
        waitid(P_PID, (id_t)worker->sandbox_pid, &info, WEXITED | WNOWAIT | WNOHANG) == 0 &&
        info.si_code == CLD_EXITED;
    if (is_known && info.si_status > EXIT_BY_SIGNAL && info.si_status < EXIT_BY_SIGNAL + NSIG)
        return fail_crashed(worker, info.si_status - EXIT_BY_SIGNAL);
    return fail_exited(worker, is_known ? info.si_status : NUMALAB_UNKNOWN_EXIT_CODE);
}

/* The worker has ended by itself: find out how. */
int numalab_worker_note_death(struct numalab_worker *worker)
{
    siginfo_t info = {0};
    int status;

    numalab_worker_take_reports(worker);
    if (worker->output >= 0) numalab_worker_drain_output(worker);
    if (worker->kind == NUMALAB_SANDBOXED) return note_death_in_sandbox(worker);
    if (worker->kind == NUMALAB_RANK) { /* its parent learns how it ended, and does not tell */
        worker->is_reaped = true;
        if (worker->has_crash_report)
            return fail_crashed(worker, worker->crash_report.signal_number);
        return fail_exited(worker,
                           worker->has_left ? worker->leave_code : NUMALAB_UNKNOWN_EXIT_CODE);
    }
    if (waitid(P_PID, (id_t)worker->pid, &info, WEXITED | WNOWAIT) < 0)
        return numalab_worker_kit_error(worker, "learn how the worker ended", -errno);
    kill(-worker->pid, SIGKILL); /* its whole session, while the number is still its own */
    if (waitpid(worker->pid, &status, 0) < 0)
        return numalab_worker_kit_error(worker, "learn how the worker ended", -errno);
    worker->is_reaped = true;
    return info.si_code == CLD_EXITED ? fail_exited(worker, info.si_status)
                                      : fail_crashed(worker, info.si_status);
}

/* ---- memory ---------------------------------------------------------------- */

bool numalab_worker_is_cancelled(const struct numalab_worker *worker)
{
    struct pollfd cancel = {.fd = worker->cancel_fd, .events = POLLIN};
    return poll(&cancel, 1, 0) > 0;
}

/* Why the worker's memory can't be reached: it was ended from outside (memory ran out,
 * most often), or its kernel unmapped or protected an array. */
static int note_lost_memory(struct numalab_worker *worker, const char *doing, int error)
{
    if (error == EFAULT) return numalab_worker_fail_as(worker, NUMALAB_ARRAY_GONE);
    return numalab_worker_fail_obstructed(worker, doing, -error);
}

int numalab_worker_read(const struct numalab_worker *worker, uint64_t address, void *buffer,
                        size_t bytes)
{
    return numalab_remote_memory_read(worker->pid, address, buffer, bytes);
}

int numalab_worker_read_or_fail(struct numalab_worker *worker, uint64_t address, void *buffer,
                                size_t bytes)
{
    const int error = numalab_worker_read(worker, address, buffer, bytes);
    return error == 0 ? 0 : note_lost_memory(worker, "read the results", -error);
}

int numalab_worker_write_or_fail(struct numalab_worker *worker, uint64_t address,
                                 const void *buffer, size_t bytes)
{
    const struct iovec local = {(void *)(uintptr_t)buffer, bytes};
    const struct iovec remote = {(void *)(uintptr_t)address, bytes};
    return numalab_worker_write_vector_or_fail(worker, &local, &remote, 1);
}

int numalab_worker_write_vector(const struct numalab_worker *worker, const struct iovec *local,
                                const struct iovec *remote, size_t count)
{
    return numalab_remote_memory_write(worker->pid, local, remote, count);
}

int numalab_worker_write_vector_or_fail(struct numalab_worker *worker, const struct iovec *local,
                                        const struct iovec *remote, size_t count)
{
    const int error = numalab_worker_write_vector(worker, local, remote, count);
    return error == 0 ? 0 : note_lost_memory(worker, "change the inputs", -error);
}

/* ---- end --------------------------------------------------------------- */

/* Ends a sandbox and with it all that is inside; returns once the worker is gone. */
static void end_sandbox(struct numalab_worker *worker)
{
    kill(worker->sandbox_pid, SIGKILL);
    while (waitpid(worker->sandbox_pid, NULL, 0) < 0 && errno == EINTR) continue;
    if (worker->pid_fd >= 0)
        numalab_heartbeat_wait(worker->limits.heartbeat, worker->pid_fd, sandbox_end_s);
    close(worker->sandbox_fd);
    worker->sandbox_pid = 0;
    worker->sandbox_fd = -1;
}

void numalab_worker_end(struct numalab_worker *worker)
{
    const bool is_child = worker->kind == NUMALAB_CHILD;
    if (worker->pid > 0 && !is_child) numalab_worker_signal(worker, SIGKILL);
    if (worker->sandbox_pid > 0) end_sandbox(worker);
    if (worker->pid > 0) {
        if (is_child && !worker->is_reaped) {
            kill(-worker->pid, SIGKILL); /* its whole session */
            kill(worker->pid, SIGKILL);
            while (waitpid(worker->pid, NULL, 0) < 0 && errno == EINTR) continue;
        }
        /* LLVM's runtime registers itself in a file that a killed process
         * leaves behind. */
        char path[96];
        snprintf(path, sizeof path, "/dev/shm/__KMP_REGISTERED_LIB_%d_%d", (int)worker->pid,
                 (int)getuid());
        unlink(path);
    }
    if (worker->output >= 0) numalab_worker_drain_output(worker);
    const int descriptors[] = {worker->pid_fd, worker->channel, worker->output};
    for (size_t i = 0; i < sizeof descriptors / sizeof descriptors[0]; i++)
        if (descriptors[i] >= 0) close(descriptors[i]);
    worker->pid = worker->pid_fd = worker->channel = worker->output = -1;
}
