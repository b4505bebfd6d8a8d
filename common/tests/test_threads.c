#define _GNU_SOURCE
#include "monitor/threads.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/processes/worker_process.h"

static int failures;

static const struct numalab_limits limits = {.phase_s = 30.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 2};

enum { THREADS = 4 };

static void *wait_for_ever(void *unused)
{
    pause();
    return unused;
}

/* In a process of its own: starts the threads, and tells when they are there. */
static void make_threads(int listed)
{
    pid_t own = getpid();
    for (int i = 1; i < THREADS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) _exit(1);
    }
    struct numalab_threads threads;
    for (int i = 0; i < 1000; i++) {
        if (numalab_threads_read(getpid(), &threads) == 0 && threads.count == THREADS) break;
        usleep(1000);
    }
    if (write(listed, &own, sizeof own) != sizeof own) _exit(1);
    pause();
    _exit(0);
}

/* Threads that start in the same tick as the ids begin anew are still in order. */
static void test_order_when_ids_begin_anew(void)
{
    long largest = 32768;
    FILE *file = fopen("/proc/sys/kernel/pid_max", "re");
    if (file) {
        EXPECT(fscanf(file, "%ld", &largest) == 1);
        fclose(file);
    }
    /* Only root may set what id comes next; for others this is an ordinary start. */
    file = fopen("/proc/sys/kernel/ns_last_pid", "we");
    if (file) {
        fprintf(file, "%ld", largest - 3);
        fclose(file);
    }
    int listed[2];
    pid_t ready = 0;
    struct numalab_threads threads;
    EXPECT(pipe(listed) == 0);
    pid_t child = fork();
    if (child == 0) make_threads(listed[1]);
    EXPECT(read(listed[0], &ready, sizeof ready) == sizeof ready && ready == child);
    EXPECT(numalab_threads_read(child, &threads) == 0);
    EXPECT(threads.count == THREADS && threads.list[0].id == child);
    for (size_t i = 1; i < threads.count; i++)
        EXPECT(threads.list[i].start_ticks > threads.list[i - 1].start_ticks ||
               threads.list[i].id_distance > threads.list[i - 1].id_distance);
    numalab_threads_free(&threads);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(listed[0]);
    close(listed[1]);
}

int main(void)
{
    test_order_when_ids_begin_anew();

    struct numalab_worker worker;
    struct numalab_threads threads;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0);
    EXPECT(numalab_worker_allocate(&worker, 10, numalab_drivers[0], NUMALAB_ANONYMOUS) == 0);

    /* It waits for a request, or is about to. */
    for (int i = 0; i < 60000 && numalab_threads_is_runnable(worker.pid, worker.pid); i++)
        usleep(1000);
    const double before_s = numalab_threads_cpu_s(worker.pid, worker.pid);
    EXPECT(!numalab_threads_is_runnable(worker.pid, worker.pid));
    EXPECT(numalab_worker_run(&worker, "spin", NULL) == 0);
    EXPECT(numalab_threads_cpu_s(worker.pid, worker.pid) - before_s > 0.04);

    EXPECT(numalab_threads_read(worker.pid, &threads) == 0);
    EXPECT(threads.count == 1 && threads.list[0].id == worker.pid);
    EXPECT(threads.list[0].allowed && threads.list[0].last_pu >= 0);
    EXPECT(threads.list[0].start_ticks > 0 && threads.list[0].cpu_s > 0.04);
    EXPECT(numalab_threads_number(&threads, worker.pid) == 0);
    EXPECT(numalab_threads_number(&threads, worker.pid + 1) == -1);

    struct numalab_node node;
    EXPECT(numalab_node_open(&node) == 0);
    json_t *list = numalab_threads_describe(&threads, &node);
    json_t *thread = json_array_get(list, 0);
    EXPECT(json_array_size(json_object_get(thread, "allowed_pus")) > 0);
    json_decref(list);
    numalab_node_close(&node);
    numalab_threads_free(&threads);
    numalab_worker_end(&worker);

    /* Ended threads and processes are no error, they are nothing. */
    EXPECT(numalab_threads_cpu_s(1 << 22, 1) == 0.0);
    EXPECT(!numalab_threads_is_runnable(1 << 22, 1));
    EXPECT(numalab_threads_read(1 << 22, &threads) < 0);
    return failures > 0;
}
