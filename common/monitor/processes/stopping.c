/* Workers that stand still: while their memory is looked at, and while others are timed. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "heartbeat.h"
#include "worker_internal.h"
#include "monitor/proc.h"
#include "monitor/threads.h"
#include "worker_process.h"

/* A worker that isn't stopped after so many looks, a millisecond apart, is not worth waiting
 * for. No clock is asked: a node that stands still for seconds, as a virtual machine may, costs
 * one look. Who continues a job that has paused wakes the worker, too: so it is told again.
 * Most stop within 50 us, if the monitor leaves its core meanwhile: a thread of the worker that
 * has been there, waiting for the next region, stops only when it runs again. */
enum { STOP_POLLS = 2000, SHORT_POLLS = 100, POLLS_PER_SIGNAL = 200 };
static const long short_poll_ns = 10000;

/* What a worker may take of its cores after it was seen to be stopped. What its threads took before
 * that shows when they leave their cores, up to a tick late, or later where that is the moment at
 * which a hypervisor takes one away. Once it has stood still for a while there is nothing left that
 * could show; but for that rare moment, which is let pass so many times. */
static const double late_account_s = 0.02, still_account_s = 0.0001;
enum { MOST_LATE_ACCOUNTS = 1 };

/* Whether a worker stands still by now: 1, 0, or -1 with the outcome set. Of a child the system
 * tells, which looks at no thread. */
static int has_stopped(struct numalab_worker *worker)
{
    siginfo_t info = {0};
    if (worker->kind != NUMALAB_CHILD) return numalab_threads_all_stopped(worker->pid);
    if (waitid(P_PID, (id_t)worker->pid, &info, WSTOPPED | WEXITED | WNOWAIT | WNOHANG) < 0)
        return numalab_worker_fail_obstructed(worker, "stop the worker", -errno);
    if (info.si_pid != worker->pid || info.si_code == CLD_TRAPPED) return 0;
    if (info.si_code != CLD_STOPPED) return numalab_worker_note_death(worker);
    waitid(P_PID, (id_t)worker->pid, &info, WSTOPPED | WNOHANG);
    return 1;
}

/* The same of one that may not have gone on since it was stopped: nothing is told of it then. */
static int is_still(struct numalab_worker *worker)
{
    const int has = has_stopped(worker);
    return has == 0 ? numalab_threads_all_stopped(worker->pid) : has;
}

static int stop(struct numalab_worker *worker, int (*is_done)(struct numalab_worker *worker))
{
    worker->paused_before_stop_s = numalab_heartbeat_read(worker->limits.heartbeat).paused_s;
    for (int polls = 0;; polls++) {
        if (polls % POLLS_PER_SIGNAL == 0 && numalab_worker_signal(worker, SIGSTOP) < 0)
            return numalab_worker_fail_obstructed(worker, "stop the worker", -errno);
        const int stopped = is_done(worker);
        if (stopped < 0) return -1;
        if (stopped) break;
        /* Somebody in the worker may wake it again and again. */
        if (polls > STOP_POLLS) return numalab_worker_fail_as(worker, NUMALAB_BAD_PROTOCOL);
        if (numalab_worker_is_cancelled(worker))
            return numalab_worker_fail_as(worker, NUMALAB_CANCELLED);
        const long wait_ns = polls < SHORT_POLLS ? short_poll_ns : 1000000;
        ppoll(NULL, 0, &(struct timespec){.tv_nsec = wait_ns}, NULL);
    }
    worker->is_stopped = true;
    worker->still_cpu_s = numalab_proc_cpu_s(worker->pid);
    return 0;
}

int numalab_worker_stop(struct numalab_worker *worker)
{
    return worker->is_stopped ? 0 : stop(worker, has_stopped);
}

int numalab_worker_stop_again(struct numalab_worker *worker)
{
    return worker->is_stopped && worker->pid > 0 ? stop(worker, is_still) : 0;
}

/* Whether the node has paused since: who continues a whole job that has paused wakes its workers,
 * too, and what was measured meanwhile does not count anyway. */
static bool has_paused(const struct numalab_worker *worker)
{
    return numalab_heartbeat_paused_s(worker->limits.heartbeat) > worker->paused_before_stop_s;
}

static int fail_woken(struct numalab_worker *worker, double ran_s)
{
    return numalab_worker_fail(
        worker, (struct numalab_outcome){
                    .kind = NUMALAB_BAD_PROTOCOL,
                    .bad_protocol = {.disturbance = NUMALAB_RAN_WHILE_STOPPED, .ran_s = ran_s}});
}

/* Whether it has taken less CPU time than allowed_s since it was looked at last, or since it was
 * stopped; what it has taken is not counted again. */
static int check_cpu_time(struct numalab_worker *worker, double allowed_s)
{
    const double cpu_s = numalab_proc_cpu_s(worker->pid), ran_s = cpu_s - worker->still_cpu_s;
    if (!worker->is_stopped || ran_s <= allowed_s) return 0;
    worker->still_cpu_s = cpu_s;
    if (ran_s <= late_account_s && worker->late_accounts++ < MOST_LATE_ACCOUNTS) return 0;
    return has_paused(worker) ? 0 : fail_woken(worker, ran_s);
}

int numalab_worker_begin_standstill(struct numalab_worker *worker)
{
    const int error = check_cpu_time(worker, late_account_s);
    worker->still_cpu_s = numalab_proc_cpu_s(worker->pid);
    return error;
}

int numalab_worker_check_standstill(struct numalab_worker *worker)
{
    return check_cpu_time(worker, still_account_s);
}

/* Woken by somebody else, it may have seen its inputs change. */
int numalab_worker_check_stopped(struct numalab_worker *worker)
{
    if (!worker->is_stopped || numalab_threads_is_stopped(worker->pid, worker->pid) ||
        has_paused(worker))
        return 0;
    return fail_woken(worker, numalab_proc_cpu_s(worker->pid) - worker->still_cpu_s);
}

int numalab_worker_wake(struct numalab_worker *worker)
{
    if (!worker->is_stopped) return 0;
    if (numalab_worker_signal(worker, SIGCONT) < 0)
        return numalab_worker_fail_obstructed(worker, "continue the worker", -errno);
    worker->is_stopped = false;
    return 0;
}

int numalab_worker_continue(struct numalab_worker *worker)
{
    return numalab_worker_check_stopped(worker) < 0 ? -1 : numalab_worker_wake(worker);
}
