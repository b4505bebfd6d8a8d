#define _GNU_SOURCE
#include "monitor/threads.h"

#include <unistd.h>

#include "expect.h"
#include "monitor/worker_process.h"

static int failures;

static const struct numalab_limits limits = {.phase_s = 5.0,
                                             .memory_bytes = (uint64_t)64 << 20,
                                             .output_bytes = 1 << 20,
                                             .thread_count = 2};

int main(void)
{
    struct numalab_worker worker;
    struct numalab_threads threads;
    EXPECT(numalab_worker_start(&worker, MISBEHAVING_WORKER, &limits, -1) == 0);
    EXPECT(numalab_worker_allocate(&worker, 10, &numalab_driver, NUMALAB_ANONYMOUS) == 0);

    /* It waits for a request, or is about to. */
    for (int i = 0; i < 1000 && numalab_threads_is_runnable(worker.pid, worker.pid); i++)
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
    return failures;
}
