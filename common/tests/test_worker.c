#define _GNU_SOURCE
#include "monitor/processes/worker_process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/memory.h"
#include "monitor/processes/heartbeat.h"
#include "monitor/processes/sandbox.h"
#include "monitor/record.h"
#include "monitor/threads.h"
#include "monitor/results.h"
#include "pause.h"

static int failures;

static struct numalab_heartbeat *heartbeat;
static const double hang_limit_s = 0.5;

/* Generous: on a busy node a process may stand for seconds. */
static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 2};

/* Number of entries in a folder of /proc/PID. */
static size_t entries_of(pid_t pid, const char *name)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    DIR *folder = opendir(path);
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

static int start(struct numalab_worker *worker, size_t n)
{
    return numalab_worker_start(worker, MISBEHAVING_WORKER, &limits, -1) < 0 ||
                   numalab_worker_allocate(worker, n, numalab_drivers[0], NUMALAB_ANONYMOUS) < 0
               ? -1
               : 0;
}

/* Runs one phase in a worker of its own; returns how that ended. */
static struct numalab_outcome run_phase(const char *phase, size_t n)
{
    struct numalab_worker worker;
    EXPECT(start(&worker, n) == 0);
    const char *const endless[] = {"hang", "spin_on_many", "stop_itself"};
    for (size_t i = 0; i < sizeof endless / sizeof endless[0]; i++)
        if (strcmp(phase, endless[i]) == 0) worker.limits.phase_s = hang_limit_s;
    if (strcmp(phase, "stop_monitor") == 0) worker.limits.phase_s = 0.2;
    worker.limits.heartbeat = heartbeat;
    numalab_worker_run(&worker, phase, NULL);
    pid_t pid = worker.pid;
    numalab_worker_end(&worker);
    EXPECT(kill(pid, 0) < 0 && errno == ESRCH);
    return worker.outcome;
}

static void test_ends(void)
{
    EXPECT(run_phase("compute", 1000).kind == NUMALAB_OK);

    struct numalab_outcome outcome = run_phase("leave", 10);
    EXPECT(outcome.kind == NUMALAB_EXITED && outcome.exited.exit_code == 7);
    EXPECT(strcmp(outcome.doing, "leave") == 0);

    outcome = run_phase("hang", 10);
    EXPECT(outcome.kind == NUMALAB_TIMED_OUT && outcome.timed_out.is_wall_limit &&
           !outcome.timed_out.is_cut);
    EXPECT(outcome.timed_out.limit_s == 2 * hang_limit_s);
    EXPECT(run_phase("print_endlessly", 10).kind == NUMALAB_TOO_MUCH_OUTPUT);
    EXPECT(run_phase("grow", 10).kind == NUMALAB_OUT_OF_MEMORY);
    EXPECT(run_phase("forge_reply", 10).kind == NUMALAB_BAD_PROTOCOL);
    EXPECT(run_phase("forge_ticket", 10).kind == NUMALAB_BAD_PROTOCOL);
    EXPECT(run_phase("forge_error", 10).kind == NUMALAB_BAD_PROTOCOL);

    static const struct {
        const char *phase;
        int signal_number;
    } crashes[] = {{"overrun_stack", SIGSEGV}, {"divide_by_zero", SIGFPE}, {"give_up", SIGABRT}};
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++) {
        outcome = run_phase(crashes[i].phase, 10);
        EXPECT(outcome.kind == NUMALAB_CRASHED);
        EXPECT(outcome.crashed.signal_number == crashes[i].signal_number);
        EXPECT(outcome.crashed.has_report && outcome.crashed.report.frame_count > 0);
    }
    outcome = run_phase("ask_absurdly", 10);
    EXPECT(outcome.kind == NUMALAB_EXITED && outcome.exited.exit_code == 0);
    outcome = run_phase("look_for_huge_pages", 10);
    EXPECT(outcome.kind == NUMALAB_EXITED && outcome.exited.exit_code == 0);
    outcome = run_phase("no_such_phase", 10); /* as the worker says */
    EXPECT(outcome.kind == NUMALAB_OBSTRUCTED && outcome.obstructed.error == -ENOENT);
    outcome = run_phase("close_channel", 10);
    EXPECT(outcome.kind == NUMALAB_EXITED && outcome.exited.exit_code == NUMALAB_EXIT_NO_CHANNEL);
    outcome = run_phase("forge_refusal", 10);
    EXPECT(outcome.kind == NUMALAB_OBSTRUCTED && outcome.obstructed.error == -ENOMEM);
}

/* A worker that may have huge pages gets those that it asks for, whatever the system's mode, where
 * the system can do so for one process. */
static void test_advised_pages(void)
{
    struct numalab_limits allowed = limits;
    struct numalab_worker worker;
    allowed.huge_pages = true;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &allowed, -1) == 0);
    EXPECT(numalab_worker_allocate(&worker, 10, numalab_drivers[0], NUMALAB_ANONYMOUS) == 0);
    numalab_worker_run(&worker, "look_for_advised_pages", NULL);
    numalab_worker_end(&worker);
    EXPECT(worker.outcome.kind == NUMALAB_EXITED);
    EXPECT(worker.outcome.exited.exit_code == !numalab_memory_has_except_advised());
}

/* What the kit can't do in a worker's process is told as that; how it ended, where it has. */
static void test_obstructed(void)
{
    struct numalab_worker worker;
    char byte;
    EXPECT(start(&worker, 10) == 0);
    EXPECT(numalab_worker_run(&worker, "hide", NULL) == 0);
    const int hidden = numalab_worker_read_or_fail(&worker, worker.address[0], &byte, sizeof byte);
    EXPECT(hidden == 0 ? getuid() == 0 : worker.outcome.kind == NUMALAB_OBSTRUCTED);
    numalab_worker_end(&worker);

    EXPECT(start(&worker, 10) == 0);
    EXPECT(numalab_worker_run(&worker, "use_up_files", NULL) == 0);
    EXPECT(numalab_worker_allocate(&worker, 10, numalab_drivers[0], NUMALAB_SHARED) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_OBSTRUCTED && worker.outcome.obstructed.error == -EMFILE);
    numalab_worker_end(&worker);

    EXPECT(start(&worker, 10) == 0);
    EXPECT(numalab_worker_run(&worker, "leave_soon", NULL) == 0);
    EXPECT(numalab_worker_fail_obstructed(&worker, "look", -ESRCH) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_EXITED && worker.outcome.exited.exit_code == 7);
    numalab_worker_end(&worker);

    EXPECT(start(&worker, 10) == 0);
    EXPECT(numalab_worker_run(&worker, "crash_soon", NULL) == 0);
    EXPECT(numalab_worker_fail_obstructed(&worker, "look", -ESRCH) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_CRASHED &&
           worker.outcome.crashed.signal_number == SIGFPE);
    EXPECT(worker.outcome.crashed.has_report && worker.outcome.crashed.report.frame_count > 0);
    numalab_worker_end(&worker);
}

/* Memory that is in no mapping counts, too. */
static void test_held_memory(void)
{
    struct numalab_worker worker;
    EXPECT(start(&worker, 10) == 0);
    EXPECT(numalab_worker_run(&worker, "hold", NULL) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_OUT_OF_MEMORY);
    EXPECT(worker.outcome.out_of_memory.resident_bytes > worker.outcome.out_of_memory.limit_bytes);
    numalab_worker_end(&worker);
}

static void test_guards(void)
{
    /* The element after the last is caught whatever the size, and named. */
    const size_t sizes[] = {1, 7, 512, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct numalab_worker worker;
        EXPECT(start(&worker, sizes[i]) == 0);
        EXPECT(numalab_worker_run(&worker, "past_end", NULL) < 0);
        EXPECT(worker.outcome.kind == NUMALAB_CRASHED);
        EXPECT(worker.outcome.crashed.signal_number == SIGSEGV &&
               worker.outcome.crashed.has_report);
        EXPECT(worker.outcome.crashed.report.fault_address == worker.address[0] + 8 * sizes[i]);
        EXPECT(worker.outcome.crashed.report.frame_count > 0);
#if defined(__x86_64__)
        EXPECT(worker.outcome.crashed.report.fault_is_write == 1);
#endif
        numalab_worker_end(&worker);
    }

    /* The element before the first is in the guard, or is seen to have changed. */
    EXPECT(run_phase("before_start", 512).kind == NUMALAB_CRASHED);
    struct numalab_worker worker;
    struct numalab_results results = {0};
    EXPECT(start(&worker, 7) == 0 && numalab_results_prepare(&worker) == 0);
    EXPECT(numalab_results_check_before(&worker, &results) == 0 && !results.wrote_before_array);
    EXPECT(numalab_worker_run(&worker, "before_start", NULL) == 0);
    EXPECT(numalab_results_check_before(&worker, &results) == 0 && results.wrote_before_array);
    numalab_worker_end(&worker);
}

static void test_stop_and_memory(void)
{
    struct numalab_worker worker;
    double x[1000];
    EXPECT(start(&worker, 1000) == 0);
    EXPECT(numalab_worker_run(&worker, "initialize", NULL) == 0);
    EXPECT(numalab_worker_stop(&worker) == 0 && worker.is_stopped);
    EXPECT(numalab_worker_read_or_fail(&worker, worker.address[0], x, sizeof x) == 0);
    EXPECT(x[0] == 0.0 && x[999] == 999.0);
    x[5] = 50.0;
    EXPECT(numalab_worker_write_or_fail(&worker, worker.address[0], x, sizeof x) == 0);
    EXPECT(numalab_worker_continue(&worker) == 0);
    EXPECT(numalab_worker_run(&worker, "compute", NULL) == 0 && worker.elapsed_s > 0);
    EXPECT(numalab_worker_read_or_fail(&worker, worker.address[0], x, sizeof x) == 0);
    EXPECT(x[5] == 51.0 && x[999] == 1000.0);
    EXPECT(numalab_worker_read_or_fail(&worker, 4096, x, sizeof x) < 0);
    numalab_worker_end(&worker);
}

/* The system stores nothing on a worker's behalf: not by a file, where there is Landlock, and for
 * one that tells of its stores not by a call. */
static void test_stores_of_the_system(void)
{
    struct numalab_worker worker;
    double x = 0.0;
    const bool has_landlock = syscall(444, NULL, 0, 1) > 0; /* landlock_create_ruleset */
    EXPECT(start(&worker, 10) == 0 && numalab_worker_run(&worker, "write_by_file", NULL) == 0);
    EXPECT(numalab_worker_read_or_fail(&worker, worker.address[0], &x, sizeof x) == 0);
    EXPECT(!has_landlock || x == 0.0);
    EXPECT(numalab_worker_run(&worker, "write_by_call", NULL) == 0);
    EXPECT(numalab_worker_read_or_fail(&worker, worker.address[0], &x, sizeof x) == 0 && x == -2.0);
    numalab_worker_end(&worker);

    struct numalab_limits telling = limits;
    telling.notes_stores = true;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &telling, -1) == 0);
    EXPECT(numalab_worker_allocate(&worker, 10, numalab_drivers[0], NUMALAB_ANONYMOUS) == 0);
    EXPECT(numalab_worker_run(&worker, "compute", NULL) == 0);
    EXPECT(numalab_worker_run(&worker, "write_by_call", NULL) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_CRASHED &&
           worker.outcome.crashed.signal_number == SIGSYS);
    numalab_worker_end(&worker);
}

/* Whether a record says so, and whether also how many ranks waited. */
static bool has_timed_out(const struct numalab_worker *worker, bool *has_pending_ranks)
{
    json_t *outcome = numalab_record_outcome(worker, numalab_drivers[0]);
    const char *status = json_string_value(json_object_get(outcome, "status"));
    const bool timed_out = status && strcmp(status, "timed_out") == 0;
    *has_pending_ranks = json_object_get(outcome, "ranks_waiting") != NULL;
    json_decref(outcome);
    return timed_out;
}

/* What ranks wait for is told of ranks only, and what a worker was is known after its end. The
 * sandbox is a shell that holds nothing back: it takes what bubblewrap would be told, and starts
 * what comes behind. */
static void test_kinds(void)
{
    static const struct numalab_sandbox no_wall = {
        .word_count = 4,
        .word = {"sh", "-c", "until [ \"$1\" = -- ]; do shift; done; shift; \"$@\"; exit $?", "sh"},
        .confine = CONFINE};
    bool has_pending_ranks;
    struct numalab_worker worker = numalab_no_worker;
    worker.outcome = (struct numalab_outcome){.kind = NUMALAB_TIMED_OUT,
                                              .doing = "hang",
                                              .timed_out = {.limit_s = 1.0, .pending_ranks = 2}};
    EXPECT(has_timed_out(&worker, &has_pending_ranks));
    EXPECT(!has_pending_ranks);
    worker.kind = NUMALAB_RANK;
    numalab_worker_end(&worker);
    EXPECT(has_timed_out(&worker, &has_pending_ranks));
    EXPECT(has_pending_ranks);

    if (!no_wall.confine[0]) return;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct numalab_limits kept = limits;
    kept.sandbox = &no_wall;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &kept, -1) == 0);
    EXPECT(worker.kind == NUMALAB_SANDBOXED && worker.sandbox_pid > 0 &&
           worker.sandbox_pid != worker.pid);
    EXPECT(numalab_worker_allocate(&worker, 10, numalab_drivers[0], NUMALAB_ANONYMOUS) == 0);
    worker.limits.phase_s = hang_limit_s;
    EXPECT(numalab_worker_run(&worker, "hang", NULL) < 0);
    const pid_t pid = worker.pid, sandbox_pid = worker.sandbox_pid;
    numalab_worker_end(&worker);
    waitpid(pid, NULL, 0); /* ours, where the shell went first */
    EXPECT(kill(pid, 0) < 0 && errno == ESRCH && kill(sandbox_pid, 0) < 0 && errno == ESRCH);
    EXPECT(has_timed_out(&worker, &has_pending_ranks));
    EXPECT(!has_pending_ranks && worker.kind == NUMALAB_SANDBOXED);
}

/* What takes its time without an end, however it does: with more threads than the team has, asleep,
 * stopped, or while it keeps the monitor from running. */
static void test_endless(void)
{
    struct numalab_worker worker;
    EXPECT(start(&worker, 10) == 0);
    worker.limits.phase_s = hang_limit_s;
    worker.limits.thread_count = 1;
    worker.limits.heartbeat = heartbeat;
    const pid_t pauser = pause_soon(0, 2000000); /* the monitor alone: the worker works on */
    EXPECT(numalab_worker_run(&worker, "spin_on_many", NULL) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_TIMED_OUT && !worker.outcome.timed_out.is_wall_limit);
    EXPECT(worker.outcome.timed_out.limit_s == hang_limit_s);
    numalab_worker_end(&worker);
    EXPECT(waitpid(pauser, NULL, 0) == pauser);

    struct numalab_outcome outcome = run_phase("stop_itself", 10);
    EXPECT(outcome.kind == NUMALAB_TIMED_OUT && outcome.timed_out.is_wall_limit);
    const double paused_s = numalab_heartbeat_paused_s(heartbeat);
    outcome = run_phase("stop_monitor", 10);
    EXPECT(outcome.kind == NUMALAB_TIMED_OUT && outcome.timed_out.is_wall_limit);
    EXPECT(numalab_heartbeat_paused_s(heartbeat) > paused_s);
}

/* Many phases that are each within its limit, and not all of them together. */
static void test_all_phases(void)
{
    enum { MOST_RUNS = 100 }; /* 5 s of CPU time */
    struct numalab_worker worker;
    EXPECT(start(&worker, 10) == 0);
    worker.limits.thread_count = 1;
    worker.limits.heartbeat = heartbeat;
    for (int i = 0; i < 3; i++) EXPECT(numalab_worker_run(&worker, "spin", NULL) == 0);
    worker.limits.phase_s = 1.0;
    worker.limits.phases = 1;
    int runs = 0;
    while (runs < MOST_RUNS && numalab_worker_run(&worker, "spin", NULL) == 0) runs++;
    EXPECT(runs < MOST_RUNS);
    EXPECT(worker.outcome.kind == NUMALAB_TIMED_OUT && worker.outcome.timed_out.is_total);
    EXPECT(worker.outcome.timed_out.limit_s ==
           (worker.outcome.timed_out.is_wall_limit ? 2.0 : 1.0));
    numalab_worker_end(&worker);
}

/* A phase that is cut is none that failed. */
static void test_cut(void)
{
    struct numalab_worker worker;
    EXPECT(start(&worker, 10) == 0);
    worker.limits.cut_s = 0.1;
    EXPECT(numalab_worker_run(&worker, "hang", NULL) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_TIMED_OUT && worker.outcome.timed_out.is_cut);
    EXPECT(worker.outcome.timed_out.limit_s == worker.limits.cut_s);
    numalab_worker_end(&worker);
}

/* Worker and monitor stand still together, longer than any of the limits allow: that is nobody's
 * time. Of the monitor alone it isn't either. */
static void test_pause(void)
{
    const unsigned pause_us = 1500000;
    for (int is_whole = 0; is_whole < 2; is_whole++) {
        struct numalab_worker worker;
        EXPECT(start(&worker, 10) == 0);
        worker.limits.heartbeat = heartbeat;
        worker.limits.phase_s = 0.5;
        worker.limits.cut_s = 1.2;
        const double paused_s = numalab_heartbeat_paused_s(heartbeat);
        const pid_t pauser = pause_soon(is_whole ? worker.pid : 0, pause_us);
        EXPECT(numalab_worker_run(&worker, "spin", NULL) == 0);
        for (int i = 0; i < 4; i++) EXPECT(numalab_worker_run(&worker, "spin", NULL) == 0);
        EXPECT(waitpid(pauser, NULL, 0) == pauser);
        EXPECT(numalab_heartbeat_paused_s(heartbeat) - paused_s > 1.0);
        numalab_worker_end(&worker);
    }
}

/* Who continues a worker that the monitor has stopped wakes it: that is told, unless the node has
 * paused. Then it is stopped, continued and runs as ever. */
static void test_woken(void)
{
    struct numalab_worker worker;
    EXPECT(start(&worker, 10) == 0);
    worker.limits.heartbeat = heartbeat;
    EXPECT(numalab_worker_stop(&worker) == 0);
    const pid_t pauser = pause_soon(worker.pid, 500000);
    EXPECT(waitpid(pauser, NULL, 0) == pauser);
    EXPECT(numalab_worker_continue(&worker) == 0);
    EXPECT(numalab_worker_run(&worker, "compute", NULL) == 0);
    EXPECT(numalab_worker_stop(&worker) == 0 && worker.is_stopped);
    EXPECT(kill(worker.pid, SIGCONT) == 0);
    for (int i = 0; i < 1000 && numalab_threads_is_stopped(worker.pid, worker.pid); i++)
        usleep(1000);
    EXPECT(numalab_worker_continue(&worker) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_BAD_PROTOCOL);
    numalab_worker_end(&worker);
}

static void test_cancel(void)
{
    struct numalab_worker worker;
    int cancel[2];
    EXPECT(pipe(cancel) == 0 && write(cancel[1], "x", 1) == 1);
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, cancel[0]) == 0);
    EXPECT(numalab_worker_allocate(&worker, 10, numalab_drivers[0], NUMALAB_ANONYMOUS) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_CANCELLED);
    numalab_worker_end(&worker);
    close(cancel[0]);
    close(cancel[1]);
}

/* A worker whose child lives on does not keep anybody waiting, and the child, in the
 * worker's session, ends with it. */
static void test_child(void)
{
    struct numalab_worker worker;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    EXPECT(start(&worker, 10) == 0);
    EXPECT(numalab_worker_run(&worker, "leave_child", NULL) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_EXITED);
    numalab_worker_end(&worker);
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < 60000 && ended == 0; i++) {
        ended = waitpid(-1, &status, WNOHANG);
        usleep(1000);
    }
    EXPECT(ended > 0 && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    EXPECT(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

/* Arrays given anew again and again take no more room than once. */
static void test_arrays_are_freed(void)
{
    struct numalab_worker worker;
    EXPECT(start(&worker, 1000) == 0);
    EXPECT(numalab_worker_allocate(&worker, 1000, numalab_drivers[0], NUMALAB_SHARED) == 0);
    const size_t descriptors = entries_of(worker.pid, "fd"); /* with the arrays' file */
    const size_t mappings = entries_of(worker.pid, "map_files");
    for (int i = 0; i < 50; i++)
        EXPECT(numalab_worker_allocate(&worker, 1000, numalab_drivers[0], NUMALAB_SHARED) == 0);
    EXPECT(entries_of(worker.pid, "fd") == descriptors);
    EXPECT(entries_of(worker.pid, "map_files") <= mappings + 2);
    numalab_worker_end(&worker);
}

int main(void)
{
    const size_t descriptors = entries_of(getpid(), "fd");
    struct numalab_worker worker;
    EXPECT(numalab_worker_start(&worker, "/no/such/program", &limits, -1) < 0);
    EXPECT(worker.outcome.kind == NUMALAB_KIT_ERROR);
    numalab_worker_end(&worker);

    heartbeat = numalab_heartbeat_start();
    test_ends();
    test_advised_pages();
    test_obstructed();
    test_held_memory();
    test_endless();
    test_all_phases();
    test_cut();
    test_pause();
    test_woken();
    test_guards();
    test_stop_and_memory();
    test_stores_of_the_system();
    test_kinds();
    test_cancel();
    test_child();
    test_arrays_are_freed();
    numalab_heartbeat_stop(heartbeat);
    EXPECT(entries_of(getpid(), "fd") == descriptors); /* nothing was left open */
    return failures > 0;
}
