#define _GNU_SOURCE
#include <errno.h>
#include <hwloc/linux.h>
#include <stdlib.h>

#include "monitor/record.h"
#include "monitor/results.h"
#include "runs.h"

/* The driver's arrays: who asked, and what it was told. */
enum { THREAD_ID, PU, NUMA_NODE, LOCATE_ARRAYS };
enum { ROUNDS = 4 };

/* What one thread of the worker said in one round. */
struct told {
    int32_t thread_id, pu, numa_node;
};

static int read_told(struct numalab_worker *worker, size_t element, struct told *told)
{
    int32_t *const value[LOCATE_ARRAYS] = {&told->thread_id, &told->pu, &told->numa_node};
    for (size_t i = 0; i < LOCATE_ARRAYS; i++)
        if (numalab_worker_read(worker, worker->address[i] + element * sizeof *value[i], value[i],
                                sizeof *value[i]) < 0)
            return -1;
    return 0;
}

/* Binds each thread to one PU, the PUs shuffled anew, so that no thread can know its own
 * beforehand or from an earlier round. */
static int move_threads(struct numalab_worker *worker, const struct numalab_threads *threads,
                        const struct numalab_node *node, struct numalab_random *random, int *pu)
{
    const size_t count = (size_t)hwloc_get_nbobjs_by_type(node->topology, HWLOC_OBJ_PU);
    size_t *order = malloc(count * sizeof *order);
    if (!order) return numalab_worker_kit_error(worker, "move the threads", -ENOMEM);
    numalab_random_order(random, order, count);
    int error = 0;
    for (size_t i = 0; !error && i < threads->count; i++) {
        hwloc_obj_t object =
            hwloc_get_obj_by_type(node->topology, HWLOC_OBJ_PU, (unsigned)order[i % count]);
        pu[i] = (int)object->os_index;
        if (hwloc_linux_set_tid_cpubind(node->topology, threads->list[i].id, object->cpuset) < 0 &&
            errno != ESRCH) /* a thread that has ended need not be moved */
            error = -errno;
    }
    free(order);
    return error ? numalab_worker_obstructed(worker, "move the threads", error) : 0;
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

/* pu: room for the PU of each thread. */
static int play_round(struct numalab_worker *worker, const struct numalab_run_options *options,
                      const struct numalab_threads *threads, struct numalab_random *random, int *pu,
                      json_t *rounds)
{
    if (move_threads(worker, threads, options->node, random, pu) < 0 ||
        numalab_worker_continue(worker) < 0 ||
        numalab_worker_run(worker, options->driver->compute_phase, NULL) < 0 ||
        numalab_worker_stop(worker) < 0)
        return -1;
    json_t *list = json_array();
    json_array_append_new(rounds, list);
    for (size_t i = 0; i < worker->n; i++) {
        struct told told;
        if (read_told(worker, i, &told) < 0) return -1;
        int number = numalab_threads_number_of_own(threads, told.thread_id);
        if (number < 0) continue; /* a thread that the first round did not have */
        json_array_append_new(list, json_pack("{si si si si si}", "thread", number, "pu",
                                              pu[number], "numa_node",
                                              numa_node_of_pu(options->node, pu[number]), "told_pu",
                                              (int)told.pu, "told_numa_node", (int)told.numa_node));
    }
    return 0;
}

/* For a driver with the arrays thread_id, pu and numa_node, int32_t each, one element a thread. */
json_t *numalab_run_locate(const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    const struct numalab_limits limits = numalab_limits_of_role(options, &options->role[0]);
    struct numalab_worker worker;
    struct numalab_threads threads = {0};
    struct numalab_random random = {0};
    json_t *rounds = json_array();

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
        if (error < 0) failed = numalab_worker_obstructed(&worker, "list the threads", error);
    }
    int *pu = calloc(threads.count + 1, sizeof *pu);
    if (!failed && !pu) failed = numalab_worker_kit_error(&worker, "move the threads", -ENOMEM);
    for (size_t i = 0; !failed && i < ROUNDS; i++)
        failed = play_round(&worker, options, &threads, &random, pu, rounds);
    free(pu);
    numalab_threads_free(&threads);
    numalab_worker_end(&worker);
    return json_pack("{so so so}", "seed", json_sprintf("%016llx", (unsigned long long)random.seed),
                     "rounds", rounds, "outcome", numalab_record_outcome(&worker, driver));
}
