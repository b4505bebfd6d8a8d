#define _GNU_SOURCE
#include "monitor/processes/job.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/messages.h"
#include "monitor/processes/loopback.h"
#include "monitor/threads.h"

static int failures;

enum { MOST_RANKS = 4, MOST_FILES = 64, N = 100 };

static const double deadlock_limit_s = 1.0;

/* Generous: on a busy node a barrier of four ranks on two cores takes seconds. */
static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)512 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 2};

/* A job's processes and the files that they share memory in. */
struct traces {
    pid_t pid[MOST_RANKS];
    size_t count;
    char file[MOST_FILES][256];
    size_t file_count;
};

static void add_files(struct traces *traces, pid_t pid)
{
    char path[64], line[512];
    snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
    FILE *maps = fopen(path, "re");
    while (maps && fgets(line, sizeof line, maps)) {
        char *file = strstr(line, "/dev/shm/");
        if (!file || strstr(file, "(deleted)") || traces->file_count == MOST_FILES) continue;
        file[strcspn(file, "\n")] = '\0';
        snprintf(traces->file[traces->file_count++], sizeof traces->file[0], "%s", file);
    }
    if (maps) fclose(maps);
}

static struct traces traces_of(const struct numalab_job *job)
{
    struct traces traces = {.count = job->rank_count};
    for (size_t i = 0; i < job->rank_count; i++) {
        traces.pid[i] = job->rank[i].pid;
        add_files(&traces, job->rank[i].pid);
    }
    return traces;
}

static size_t count(size_t n, size_t array, size_t rank, size_t ranks)
{
    EXPECT(array == 0 && rank < ranks);
    return n + rank;
}

/* Rank i has N + i elements. */
static const struct numalab_array arrays[] = {{"x", sizeof(double)}};
static const struct numalab_driver uneven = {
    .lab = "tests", .arrays = arrays, .array_count = 1, .count = count};

static int start_job_with(struct numalab_job *job, size_t ranks, int cancel_fd, uint32_t modes)
{
    char count[8];
    struct numalab_limits own_limits = limits;
    own_limits.modes = modes;
    snprintf(count, sizeof count, "%zu", ranks);
    const char *const command[] = {"mpiexec", "-n", count, MPI_WORKER, NULL};
    return numalab_job_launch(job, command, ranks, &own_limits, cancel_fd) < 0 ||
                   numalab_job_connect(job) < 0 || numalab_job_run(job, "start") < 0 ||
                   numalab_job_allocate(job, N, &uneven, NUMALAB_ANONYMOUS) < 0
               ? -1
               : 0;
}

static int start_job(struct numalab_job *job, size_t ranks, int cancel_fd)
{
    return start_job_with(job, ranks, cancel_fd, 0);
}

/* All ranks and what started them are gone, and so is what they had in shared memory. */
static void expect_nothing_left(const struct traces *traces)
{
    int status;
    for (int wait = 0; wait < 6000 && waitpid(-1, &status, WNOHANG) >= 0; wait++)
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    EXPECT(waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD);
    for (size_t i = 0; i < traces->count; i++)
        EXPECT(kill(traces->pid[i], 0) < 0 && errno == ESRCH);
    for (size_t i = 0; i < traces->file_count; i++) EXPECT(access(traces->file[i], F_OK) < 0);
}

/* How many of a process's network interfaces are not lo. */
static size_t interfaces_of(pid_t pid)
{
    char path[64], line[512];
    size_t others = 0;
    snprintf(path, sizeof path, "/proc/%d/net/dev", (int)pid);
    FILE *file = fopen(path, "re");
    EXPECT(file != NULL);
    while (file && fgets(line, sizeof line, file)) {
        char *name = line + strspn(line, " ");
        char *end = strchr(name, ':');
        if (end && strncmp(name, "lo:", 3) != 0) others++;
    }
    if (file) fclose(file);
    return others;
}

/* How many sockets listen on all addresses in a process's network. */
static size_t open_listeners(pid_t pid)
{
    char path[64], line[512];
    size_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/net/tcp", (int)pid);
    FILE *file = fopen(path, "re");
    EXPECT(file != NULL);
    while (file && fgets(line, sizeof line, file)) {
        const char *address = strchr(line, ':');
        if (address && strncmp(address, ": 00000000:", 11) == 0 &&
            strstr(address, " 00000000:0000 0A "))
            found++;
    }
    if (file) fclose(file);
    return found;
}

/* What listens for ranks is reached from no other machine, nor by other programs of this one. */
static void expect_no_listener(const struct numalab_job *job)
{
    int status = 1;
    const pid_t trial = fork();
    if (trial == 0) _exit(numalab_enter_loopback() ? 0 : 1);
    EXPECT(waitpid(trial, &status, 0) == trial);
    if (status != 0) {
        fprintf(stderr, "this system lets no process have a network of its own\n");
        return;
    }
    EXPECT(open_listeners(job->rank[0].pid) > 0); /* or what is looked for is not what there is */
    for (size_t i = 0; i < job->rank_count; i++) EXPECT(interfaces_of(job->rank[i].pid) == 0);
    EXPECT(interfaces_of(job->launcher.pid) == 0);
}

static void test_ring(size_t ranks)
{
    struct numalab_job job;

    EXPECT(start_job(&job, ranks, -1) == 0);
    expect_no_listener(&job);
    EXPECT(numalab_job_run(&job, "ring") == 0);
    EXPECT(job.elapsed_s > 0.0);
    EXPECT(numalab_job_stop(&job) == 0);
    for (size_t i = 0; i < ranks; i++) {
        double first = -1.0, last = -1.0;
        const pid_t pid = job.rank[i].pid;
        EXPECT(numalab_threads_is_stopped(pid, pid));
        EXPECT(job.rank[i].n == N && job.rank[i].count[0] == N + i);
        EXPECT(numalab_worker_read_or_fail(&job.rank[i], job.rank[i].address[0], &first,
                                           sizeof first) == 0);
        EXPECT(numalab_worker_read_or_fail(&job.rank[i],
                                           job.rank[i].address[0] + (N + i - 1) * sizeof last,
                                           &last, sizeof last) == 0);
        EXPECT(first == (double)((i + ranks - 1) % ranks) && last == first);
    }
    EXPECT(numalab_job_continue(&job) == 0);
    EXPECT(numalab_job_run(&job, "barriers") == 0);
    const struct traces traces = traces_of(&job);
    numalab_job_free(&job);
    expect_nothing_left(&traces);
}

/* Runs one phase in a job of its own; returns how that ended, and the rank that it tells of.
 * An alarm comes with cancel_fd, unless that is negative. */
static struct numalab_outcome run_phase(const char *phase, size_t ranks, int cancel_fd,
                                        size_t *rank)
{
    struct numalab_job job;
    struct numalab_outcome outcome = {0};

    *rank = ranks;
    EXPECT(start_job(&job, ranks, cancel_fd) == 0);
    const struct traces traces = traces_of(&job);
    if (cancel_fd >= 0)
        alarm(1);
    else if (strcmp(phase, "deadlock") == 0)
        job.rank[0].limits.phase_s = deadlock_limit_s;
    if (numalab_job_run(&job, phase) < 0) {
        numalab_job_end(&job);
        if (strcmp(phase, "one_errs") == 0) /* what MPI says of it has arrived */
            EXPECT(strstr(job.rank[0].kept_output, "on node 2"));
        outcome = job.failed->outcome;
        if (job.failed != &job.launcher) *rank = (size_t)(job.failed - job.rank);
    }
    numalab_job_free(&job);
    expect_nothing_left(&traces);
    return outcome;
}

static void test_ends(void)
{
    size_t rank;
    struct numalab_outcome outcome = run_phase("deadlock", 3, -1, &rank);
    EXPECT(outcome.kind == NUMALAB_TIMED_OUT && outcome.timed_out.pending_ranks == 3);
    EXPECT(strcmp(outcome.doing, "deadlock") == 0 && !outcome.timed_out.has_progress);
    EXPECT(outcome.timed_out.limit_s ==
           (outcome.timed_out.is_wall_limit ? 2 : 1) * deadlock_limit_s);

    outcome = run_phase("one_crashes", 3, -1, &rank);
    EXPECT(outcome.kind == NUMALAB_CRASHED && rank == 1);
    EXPECT(outcome.crashed.signal_number == SIGSEGV && outcome.crashed.has_report);
    EXPECT(outcome.crashed.report.fault_has_address);

    outcome = run_phase("one_leaves", 2, -1, &rank);
    EXPECT(outcome.kind == NUMALAB_EXITED && rank == 1);
    EXPECT(outcome.exited.has_left && outcome.exited.exit_code == 3);

    outcome = run_phase("one_aborts", 3, -1, &rank);
    EXPECT(outcome.kind == NUMALAB_EXITED && rank == 2);
    EXPECT(outcome.exited.has_left && outcome.exited.exit_code == 7 &&
           !outcome.exited.is_unattributed);

    outcome = run_phase("one_errs", 3, -1, &rank);
    EXPECT(outcome.kind == NUMALAB_EXITED && outcome.exited.is_unattributed);

    outcome = run_phase("print_endlessly", 2, -1, &rank);
    EXPECT(outcome.kind == NUMALAB_TOO_MUCH_OUTPUT);
}

static void test_cancel(void)
{
    size_t rank;
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, NULL);
    int cancel_fd = signalfd(-1, &alarms, SFD_CLOEXEC);
    EXPECT(run_phase("deadlock", 2, cancel_fd, &rank).kind == NUMALAB_CANCELLED);
    alarm(0);
    close(cancel_fd);
}

/* A send that waits for its receive meets a partner that sends, too. */
static void test_synchronous_sends(void)
{
    struct numalab_job job;
    EXPECT(start_job(&job, 2, -1) == 0);
    EXPECT(numalab_job_run(&job, "head_to_head") == 0);
    numalab_job_free(&job);

    EXPECT(start_job_with(&job, 2, -1, NUMALAB_SYNCHRONOUS_SENDS) == 0);
    EXPECT(numalab_job_run(&job, "ring") == 0);
    job.rank[0].limits.phase_s = deadlock_limit_s;
    EXPECT(numalab_job_run(&job, "head_to_head") < 0);
    EXPECT(job.failed && job.failed->outcome.kind == NUMALAB_TIMED_OUT);
    numalab_job_free(&job);
}

/* Whether ranks that get on may take longer than the limits of those that do not, but not for
 * ever. Of wall time that is twice limit_s, and they mostly sleep. */
static bool has_patience(double limit_s)
{
    struct numalab_job job;
    struct numalab_outcome outcome = {0};
    const size_t messages = (size_t)(60 * limit_s); /* three times limit_s, or more */
    EXPECT(start_job(&job, 2, -1) == 0);
    EXPECT(numalab_job_allocate(&job, messages, &uneven, NUMALAB_ANONYMOUS) == 0);
    job.rank[0].limits.phase_s = limit_s;
    job.rank[0].limits.patience = 20;
    const bool came_to_end =
        numalab_job_run(&job, "send_slowly") == 0 && job.elapsed_s > 2 * limit_s;
    job.rank[0].limits.patience = 3;
    if (came_to_end && numalab_job_run(&job, "send_endlessly") < 0) outcome = job.failed->outcome;
    numalab_job_free(&job);
    return outcome.kind == NUMALAB_TIMED_OUT && outcome.timed_out.is_wall_limit &&
           outcome.timed_out.limit_s == 3 * 2 * limit_s && outcome.timed_out.has_progress;
}

/* On a busy node there may be no message for longer than one should take. */
static void test_patience(void)
{
    EXPECT(has_patience(0.5) || has_patience(2.0) || has_patience(8.0));
}

static struct numalab_rank_notes notes_of(struct numalab_worker *rank)
{
    struct numalab_rank_notes notes = {0};
    EXPECT(rank->rank_notes != 0);
    EXPECT(numalab_worker_read_or_fail(rank, rank->rank_notes, &notes, sizeof notes) == 0);
    return notes;
}

static void test_notes(void)
{
    enum { FUNNELED = 1, SERIALIZED = 2, MULTIPLE = 3 };
    struct numalab_job job;
    EXPECT(start_job(&job, 2, -1) == 0);
    EXPECT(numalab_job_run(&job, "add_up_in_threads") == 0);
    for (size_t i = 0; i < 2; i++) {
        const struct numalab_rank_notes notes = notes_of(&job.rank[i]);
        EXPECT(notes.required == SERIALIZED && notes.provided >= SERIALIZED && notes.answer == 1);
        EXPECT(notes.main_calls == 1 && notes.other_calls == 1 && notes.messages == 2);
        EXPECT(notes.main_calls_in_parallel == 0 && notes.calls_at_once == 0);
    }
    numalab_job_free(&job);

    EXPECT(start_job_with(&job, 3, -1, NUMALAB_OTHER_THREAD_SUPPORT) == 0);
    for (size_t i = 0; i < 3; i++) {
        const struct numalab_rank_notes notes = notes_of(&job.rank[i]);
        EXPECT(notes.required == SERIALIZED && notes.answer == (i > 0));
        EXPECT(notes.provided == (i == 0 ? FUNNELED : MULTIPLE));
    }
    numalab_job_free(&job);
}

static double first_element(struct numalab_worker *rank)
{
    double first = -1.0;
    EXPECT(numalab_worker_read_or_fail(rank, rank->address[0], &first, sizeof first) == 0);
    return first;
}

/* Of both ranks, each of which does the same. */
static void expect_fault(const char *phase, int fault, const char *call)
{
    struct numalab_job job;
    EXPECT(start_job_with(&job, 2, -1, NUMALAB_IS_BRIEF) == 0);
    EXPECT(numalab_job_run(&job, phase) == 0);
    for (size_t i = 0; i < 2; i++) {
        const struct numalab_rank_notes notes = notes_of(&job.rank[i]);
        for (int other = 0; other < NUMALAB_REQUEST_FAULTS; other++)
            EXPECT(notes.requests[other].count == (other == fault));
        if (fault < 0) continue;
        EXPECT(strcmp(notes.requests[fault].call, call) == 0);
        EXPECT(notes.requests[fault].frame[0] != 0);
    }
    numalab_job_free(&job);
}

static void test_requests(void)
{
    struct numalab_job job;
    expect_fault("complete_all", -1, "");
    expect_fault("leave_one", NUMALAB_NEVER_COMPLETED, "MPI_Isend");
    expect_fault("give_one_up", NUMALAB_GIVEN_UP, "MPI_Isend");
    expect_fault("change_while_sending", NUMALAB_SEND_CHANGED, "MPI_Isend");

    EXPECT(start_job_with(&job, 2, -1, NUMALAB_IS_BRIEF) == 0);
    EXPECT(numalab_job_run(&job, "complete_all") == 0);
    for (size_t i = 0; i < 2; i++) EXPECT(first_element(&job.rank[i]) == (double)(1 - i));
    EXPECT(numalab_job_run(&job, "receive_pair") == 0);
    EXPECT(numalab_job_run(&job, "look_too_early") == 0);
    for (size_t i = 0; i < 2; i++) EXPECT(first_element(&job.rank[i]) == -1.0);
    numalab_job_free(&job);

    /* While times are taken nothing is watched. */
    EXPECT(start_job(&job, 2, -1) == 0);
    EXPECT(numalab_job_run(&job, "leave_one") == 0);
    EXPECT(notes_of(&job.rank[0]).requests[NUMALAB_NEVER_COMPLETED].count == 0);
    numalab_job_free(&job);
}

/* What N round trips of one element are found to lack after a phase. */
static struct numalab_results lacking_after(struct numalab_job *job, const char *phase)
{
    static struct numalab_messages messages;
    struct numalab_results results = {0};
    EXPECT(numalab_messages_count(job, &messages) == 0);
    EXPECT(numalab_job_run(job, phase) == 0);
    EXPECT(numalab_messages_check(job, N, sizeof(double), &messages, &results) == 0);
    return results;
}

static void test_messages(void)
{
    static const char *const right[] = {"play", "play_persistent"};
    struct numalab_job job;
    EXPECT(start_job(&job, 2, -1) == 0);
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        const struct numalab_results results = lacking_after(&job, right[i]);
        EXPECT(!results.required_messages && !results.required_bytes && !results.early_messages);
    }
    for (size_t call = 0; call < 4; call++)
        EXPECT(!lacking_after(&job, "play_when_ready").early_messages);
    struct numalab_results results = lacking_after(&job, "play_alone");
    EXPECT(results.required_messages == 2 * N && results.actual_messages == 0);
    results = lacking_after(&job, "play_empty");
    EXPECT(!results.required_messages);
    EXPECT(results.required_bytes == N * sizeof(double) && results.actual_bytes == 0);
    results = lacking_after(&job, "stream");
    EXPECT(!results.required_messages && !results.required_bytes);
    EXPECT(results.early_messages == N - 2);
    numalab_job_free(&job);
}

/* Two that come up at the same time, and go so. */
static void test_together(void)
{
    enum { JOBS = 2, RANKS = 2 };
    const char *const command[] = {"mpiexec", "-n", "2", MPI_WORKER, NULL};
    struct numalab_job job[JOBS];
    struct traces traces[JOBS];
    for (size_t i = 0; i < JOBS; i++)
        EXPECT(numalab_job_launch(&job[i], command, RANKS, &limits, -1) == 0);
    for (size_t i = 0; i < JOBS; i++)
        EXPECT(numalab_job_connect(&job[i]) == 0 && numalab_job_run(&job[i], "start") == 0);
    for (size_t i = 0; i < JOBS; i++) EXPECT(numalab_job_run(&job[i], "barriers") == 0);
    for (size_t i = 0; i < JOBS; i++) traces[i] = traces_of(&job[i]);
    for (size_t i = 0; i < JOBS; i++) numalab_job_kill(&job[i]);
    for (size_t i = 0; i < JOBS; i++) {
        numalab_job_end(&job[i]);
        EXPECT(!job[i].failed);
        numalab_job_free(&job[i]);
    }
    for (size_t i = 0; i < JOBS; i++) expect_nothing_left(&traces[i]);

    /* One that nobody has met. */
    EXPECT(numalab_job_launch(&job[0], command, RANKS, &limits, -1) == 0);
    numalab_job_free(&job[0]);
    expect_nothing_left(&(struct traces){0});
}

static int launch_and_meet(struct numalab_job *job, const char *const *command, size_t ranks)
{
    if (numalab_job_launch(job, command, ranks, &limits, -1) < 0) return -1;
    return numalab_job_connect(job);
}

static void test_bad_starts(void)
{
    struct numalab_job job;
    const char *const missing[] = {"mpiexec", "-n", "2", "/no/such/program", NULL};
    EXPECT(launch_and_meet(&job, missing, 2) < 0);
    EXPECT(job.failed == &job.launcher && job.launcher.outcome.kind == NUMALAB_OBSTRUCTED);
    EXPECT(job.launcher.printed_bytes > 0);
    numalab_job_free(&job);

    const char *const none[] = {"/no/such/launcher", NULL};
    EXPECT(launch_and_meet(&job, none, 2) < 0);
    EXPECT(job.failed == &job.launcher && job.launcher.outcome.kind == NUMALAB_OBSTRUCTED);
    numalab_job_free(&job);

    EXPECT(launch_and_meet(&job, none, NUMALAB_MAX_RANKS + 1) < 0);
    EXPECT(job.failed->outcome.kind == NUMALAB_KIT_ERROR);
    numalab_job_free(&job);
}

int main(void)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    for (size_t ranks = 1; ranks <= MOST_RANKS; ranks++) test_ring(ranks);
    test_ends();
    test_cancel();
    test_synchronous_sends();
    test_patience();
    test_notes();
    test_requests();
    test_messages();
    test_together();
    test_bad_starts();
    return failures > 0;
}
