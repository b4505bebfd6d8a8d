#define _GNU_SOURCE
#include <errno.h>
#include <hwloc/linux.h>
#include <stdbool.h>
#include <stdlib.h>

#include "monitor/record.h"
#include "monitor/results.h"
#include "runs.h"

/* The driver's arrays: who asked, what it was told, and where the worker itself saw it then. */
enum { THREAD_ID, PU, NUMA_NODE, OBSERVED_PU, LOCATE_ARRAYS };
enum { ROUNDS = 4 };

/* What one thread of the worker said in one round. */
struct answer {
    int32_t thread_id, pu, numa_node, observed_pu;
};

/* A thread that is bound is where the monitor has put it. Where one that may use two PUs was, only
 * the worker can tell, at the moment of the call; so that only ever adds to what is wrong. */
enum round_kind { BOUND, FREE };

struct round {
    enum round_kind kind;
    json_t *kind_rounds; /* the rounds of this kind so far */
};

static int read_answer(struct numalab_worker *worker, size_t element, struct answer *answer)
{
    int32_t *const value[LOCATE_ARRAYS] = {&answer->thread_id, &answer->pu, &answer->numa_node,
                                           &answer->observed_pu};
    for (size_t i = 0; i < LOCATE_ARRAYS; i++)
        if (numalab_worker_read_or_fail(worker, worker->address[i] + element * sizeof *value[i],
                                        value[i], sizeof *value[i]) < 0)
            return -1;
    return 0;
}

static size_t count_pus(const struct numalab_node *node)
{
    return (size_t)hwloc_get_nbobjs_by_type(node->topology, HWLOC_OBJ_PU);
}

static hwloc_obj_t get_pu(const struct numalab_node *node, size_t index)
{
    return hwloc_get_obj_by_type(node->topology, HWLOC_OBJ_PU, (unsigned)index);
}

/* Binds each thread to one PU, the PUs shuffled anew, so that no thread can know its own
 * beforehand or from an earlier round. */
static int move_threads(struct numalab_worker *worker, const struct numalab_threads *threads,
                        const struct numalab_node *node, struct numalab_random *random, int *pu)
{
    const size_t count = count_pus(node);
    size_t *order = malloc(count * sizeof *order);
    if (!order) return numalab_worker_kit_error(worker, "move the threads", -ENOMEM);
    numalab_random_order(random, order, count);
    int error = 0;
    for (size_t i = 0; !error && i < threads->count; i++) {
        hwloc_obj_t object = get_pu(node, order[i % count]);
        pu[i] = (int)object->os_index;
        if (hwloc_linux_set_tid_cpubind(node->topology, threads->list[i].id, object->cpuset) < 0 &&
            errno != ESRCH) /* a thread that has ended need not be moved */
            error = -errno;
    }
    free(order);
    return error ? numalab_worker_fail_obstructed(worker, "move the threads", error) : 0;
}

/* Of the PU that a thread has just run on, and another one, which comes before it if one does: it
 * most likely stays, and is not on the first that it may use. */
static int free_threads(struct numalab_worker *worker, const struct numalab_threads *threads,
                        const struct numalab_node *node, struct numalab_random *random,
                        const int *pu)
{
    const size_t count = count_pus(node);
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) return numalab_worker_kit_error(worker, "move the threads", -ENOMEM);
    int error = 0;
    for (size_t i = 0; !error && i < threads->count; i++) {
        const size_t drawn = (size_t)(numalab_random_next(random) % count);
        int other = -1;
        for (size_t k = 0; k < count; k++) {
            const int candidate = (int)get_pu(node, (drawn + k) % count)->os_index;
            if (candidate != pu[i] && (other < 0 || (other > pu[i] && candidate < pu[i])))
                other = candidate;
        }
        hwloc_bitmap_only(set, (unsigned)pu[i]);
        hwloc_bitmap_set(set, (unsigned)other);
        if (hwloc_linux_set_tid_cpubind(node->topology, threads->list[i].id, set) < 0 &&
            errno != ESRCH) /* as in move_threads */
            error = -errno;
    }
    hwloc_bitmap_free(set);
    return error ? numalab_worker_fail_obstructed(worker, "move the threads", error) : 0;
}

/* What a worker says of it. */
static bool is_pu(const struct numalab_node *node, int pu)
{
    return pu >= 0 && hwloc_get_pu_obj_by_os_index(node->topology, (unsigned)pu);
}

static int numa_node_of_pu(const struct numalab_node *node, int pu)
{
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    if (!set) return -1;
    hwloc_bitmap_only(set, (unsigned)pu);
    int numa_node = numalab_node_of_pus(node, set);
    hwloc_bitmap_free(set);
    return numa_node;
}

/* Has all threads ask, and notes what they say. pu: of each thread, where it is bound. */
static int ask_threads(struct numalab_worker *worker, const struct numalab_run_options *options,
                       const struct numalab_threads *threads, const int *pu,
                       const struct round *round)
{
    if (numalab_worker_continue(worker) < 0 ||
        numalab_worker_run(worker, options->driver->compute_phase, NULL) < 0 ||
        numalab_worker_stop(worker) < 0)
        return -1;
    json_t *list = json_array();
    json_array_append_new(round->kind_rounds, list);
    for (size_t i = 0; i < worker->n; i++) {
        struct answer answer;
        if (read_answer(worker, i, &answer) < 0) return -1;
        int number = numalab_threads_number_of_own(threads, answer.thread_id);
        if (number < 0) continue; /* a thread that the first round did not have */
        const int here = round->kind == BOUND ? pu[number] : answer.observed_pu;
        if (!is_pu(options->node, here)) continue; /* it has moved in each call */
        json_array_append_new(list, json_pack("{si si si si si}", "thread", number, "pu", here,
                                              "numa_node", numa_node_of_pu(options->node, here),
                                              "reported_pu", (int)answer.pu, "reported_numa_node",
                                              (int)answer.numa_node));
    }
    return 0;
}

/* Bound, and then free to leave. pu: room for the PU of each thread. */
static int play_round(struct numalab_worker *worker, const struct numalab_run_options *options,
                      const struct numalab_threads *threads, struct numalab_random *random, int *pu,
                      const struct round *bound, const struct round *freed)
{
    if (move_threads(worker, threads, options->node, random, pu) < 0 ||
        ask_threads(worker, options, threads, pu, bound) < 0)
        return -1;
    if (count_pus(options->node) < 2) return 0;
    if (free_threads(worker, threads, options->node, random, pu) < 0) return -1;
    return ask_threads(worker, options, threads, pu, freed);
}

/* For a driver with the arrays thread_id, pu, numa_node and observed_pu, int32_t each, one element
 * a thread. */
json_t *numalab_run_locate(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_worker worker;
    struct numalab_threads threads = {0};
    struct numalab_random random = {0};
    const struct round bound = {BOUND, json_array()}, freed = {FREE, json_array()};

    int failed =
        numalab_worker_start(&worker, options->role[0].program, &limits, options->cancel_fd);
    if (!failed && numalab_random_open(&random) < 0)
        failed = numalab_worker_kit_error(&worker, "seed the random numbers", -EIO);
    if (!failed)
        failed = numalab_worker_allocate(&worker, options->thread_count, driver,
                                         NUMALAB_ANONYMOUS) < 0 ||
                 /* Starts the team, whose threads are then moved. */
                 numalab_worker_run(&worker, driver->compute_phase, NULL) < 0 ||
                 numalab_worker_stop(&worker) < 0;
    if (!failed) {
        int error = numalab_threads_read(worker.pid, &threads);
        if (error < 0) failed = numalab_worker_fail_obstructed(&worker, "list the threads", error);
    }
    int *pu = calloc(threads.count + 1, sizeof *pu);
    if (!failed && !pu) failed = numalab_worker_kit_error(&worker, "move the threads", -ENOMEM);
    for (size_t i = 0; !failed && i < ROUNDS; i++)
        failed = play_round(&worker, options, &threads, &random, pu, &bound, &freed);
    free(pu);
    numalab_threads_free(&threads);
    numalab_worker_end(&worker);
    return json_pack("{so so so so}", "seed",
                     json_sprintf("%016llx", (unsigned long long)random.seed), "rounds",
                     bound.kind_rounds, "free_rounds", freed.kind_rounds, "outcome",
                     numalab_record_outcome(&worker, driver));
}
