#define _GNU_SOURCE
#include "requests.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "request_loop.h"
#include "worker_internal.h"

/* A thread's stack and its allocator's arena reserve this much address space. */
static const uint64_t thread_reserve_bytes = (uint64_t)256 << 20;
static const uint64_t process_reserve_bytes = (uint64_t)8 << 30;

static int exchange(struct numalab_worker *worker, struct numalab_request *request,
                    struct numalab_message *reply, int *descriptor,
                    const struct numalab_watch *watch)
{
    struct numalab_request_exchange one = {
        .worker = worker, .request = request, .reply = reply, .descriptor = descriptor};
    size_t failed;
    return numalab_exchange_requests(&one, 1, watch, &failed);
}

static int set_address_space_limit(struct numalab_worker *worker)
{
    /* On top of the resident limit, which is what is usually met: asking for
     * absurd amounts gets a null pointer and not the machine's last page. */
    uint64_t bytes = 2 * worker->array_bytes + worker->limits.memory_bytes + process_reserve_bytes +
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

bool numalab_worker_keeps_arrays(const struct numalab_worker *worker,
                                 const struct numalab_message *reply)
{
    if (!worker->makes_arrays) return true;
    for (size_t i = 0; i < worker->array_count; i++) /* None once they are given back. */
        if (reply->address[i] && reply->address[i] != worker->address[i]) return false;
    return true;
}

static int map_arrays(struct numalab_worker *worker, enum numalab_memory_kind kind)
{
    struct numalab_request request = numalab_allocate_request(worker, kind);
    struct numalab_message reply;

    if (exchange(worker, &request, &reply, NULL, NULL) < 0) return -1;
    if (reply.error < 0)
        return numalab_worker_fail_obstructed(worker, "allocate the arrays", reply.error);
    memcpy(worker->address, reply.address, sizeof worker->address);
    return 0;
}

static int run_phase(struct numalab_worker *worker, const char *phase,
                     const struct numalab_watch *watch, struct numalab_message *reply)
{
    struct numalab_request request = numalab_phase_request(worker, phase);

    if (exchange(worker, &request, reply, NULL, watch) < 0) return -1;
    worker->overrun = reply->overrun;
    if (reply->error < 0) return numalab_worker_fail_obstructed(worker, phase, reply->error);
    return 0;
}

static int have_arrays_made(struct numalab_worker *worker, const struct numalab_driver *driver)
{
    struct numalab_message reply;

    if (run_phase(worker, driver->create_phase, NULL, &reply) < 0) return -1;
    for (size_t i = 0; i < driver->array_count; i++)
        if (!reply.address[i] || reply.address[i] == UINT64_MAX)
            return numalab_worker_fail(
                worker, (struct numalab_outcome){.kind = NUMALAB_NO_ARRAY,
                                                 .no_array = {reply.address[i] != 0}});
    memcpy(worker->address, reply.address, sizeof worker->address);
    return 0;
}

int numalab_worker_allocate(struct numalab_worker *worker, size_t n,
                            const struct numalab_driver *driver, enum numalab_memory_kind kind)
{
    numalab_worker_set_arrays(worker, n, driver, 1);
    int error = worker->limits.any_address_space ? 0 : set_address_space_limit(worker);
    if (error < 0)
        return numalab_worker_fail_obstructed(worker, "limit the worker's memory", error);
    return worker->makes_arrays ? have_arrays_made(worker, driver) : map_arrays(worker, kind);
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

int numalab_worker_request(struct numalab_worker *worker, enum numalab_request_kind kind,
                           struct numalab_message *reply, int *descriptor)
{
    struct numalab_request request = {.kind = kind, .n = worker->n};
    worker->outcome.doing = "prepare the evidence";
    return exchange(worker, &request, reply, descriptor, NULL);
}

int numalab_worker_set_team(struct numalab_worker *worker, size_t threads)
{
    struct numalab_message reply;
    worker->n = threads; /* what a request brings; arrays of another size come next */
    if (numalab_worker_request(worker, NUMALAB_SET_TEAM, &reply, NULL) < 0) return -1;
    return reply.error < 0 ? numalab_worker_fail_obstructed(worker, "set the team", reply.error)
                           : 0;
}
