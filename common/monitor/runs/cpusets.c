#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "monitor/load_process.h"
#include "monitor/groups.h"
#include "monitor/proc.h"
#include "monitor/record.h"
#include "monitor/residency.h"
#include "monitor/threads.h"
#include "runs.h"

/* Of each half of a program's memory; enough that 95 % of them is a number of pages. */
enum { LEAST_PAGES = 1024, LEAST_PAGES_OF_THREAD = 16, TEXT_BYTES = 512 };

/* How often it is asked where threads run, and how long apart: and on for some seconds until the
 * job was seen on all PUs that it may use, since Linux spreads its threads sooner or later unless
 * it was told not to. A look at many threads takes an emulated machine a tenth of a second. */
enum { MIN_OBSERVATIONS = 10, OBSERVATION_INTERVAL_MS = 10 };
static const double max_observation_s = 4.0;

/* A program in its group. */
struct program {
    const char *group;
    struct numalab_load_process load;
    hwloc_bitmap_t allowed_pus, ran_on, allowed_nodes;
    json_t *pages_at_first, *pages_later[NUMALAB_LOAD_HALVES];
};

struct cpusets {
    struct program program[2];
    struct numalab_worker no_worker; /* none: it has what went wrong */
    json_t *refusals;
};

enum { JOB, OTHERS, PROGRAMS };

static int fail(struct cpusets *cpusets, const char *doing, int error)
{
    if (error == -ECANCELED)
        return numalab_worker_fail(
            &cpusets->no_worker,
            (struct numalab_outcome){.kind = NUMALAB_CANCELLED, .doing = doing});
    return numalab_worker_kit_error(&cpusets->no_worker, doing, error);
}

/* ---- what is done --------------------------------------------------------------------- */

static int start(struct cpusets *cpusets, const struct numalab_run_options *options)
{
    const hwloc_topology_t topology = options->node->topology;
    struct numalab_load_plan plan = {
        .thread_count = options->thread_count,
        .pus = hwloc_topology_get_topology_cpuset(topology),
        .numa_nodes = hwloc_topology_get_topology_nodeset(topology),
    };
    for (size_t i = 0; i < PROGRAMS; i++) {
        struct program *program = &cpusets->program[i];
        plan.is_greedy = i == OTHERS;
        if (plan.is_greedy) plan.thread_count = (size_t)hwloc_bitmap_weight(plan.pus);
        plan.pages_of_thread = LEAST_PAGES / plan.thread_count + LEAST_PAGES_OF_THREAD;
        program->allowed_pus = hwloc_bitmap_alloc();
        program->ran_on = hwloc_bitmap_alloc();
        program->allowed_nodes = hwloc_bitmap_alloc();
        if (!program->allowed_pus || !program->ran_on || !program->allowed_nodes)
            return fail(cpusets, "look at programs", -ENOMEM);
        const int error = numalab_load_process_start(&program->load, &plan);
        if (error < 0) return fail(cpusets, "start a program", error);
    }
    return 0;
}

static json_t *pages_of(const struct program *program, size_t half)
{
    struct numalab_worker seen = numalab_no_worker;
    seen.pid = program->load.pid;
    return numalab_residency_by_node(&seen, numalab_load_process_half(&program->load, half),
                                     program->load.half_bytes);
}

static int write_halves(struct cpusets *cpusets, const struct numalab_run_options *options)
{
    for (size_t i = 0; i < PROGRAMS; i++) {
        const int error = numalab_load_process_write_half(
            &cpusets->program[i].load, options->limits.phase_s, options->cancel_fd);
        if (error < 0) return fail(cpusets, "have a program write its memory", error);
    }
    return 0;
}

static void note_refusal(struct cpusets *cpusets, const char *group, const char *file,
                         const char *value, int error)
{
    if (error == 0) return;
    const char *name = strerrorname_np(-error);
    json_array_append_new(cpusets->refusals,
                          json_pack("{ss ss ss ss}", "group", group, "file", file, "value", value,
                                    "error", name ? name : "unknown"));
}

/* All that one key says, in both groups, before the next key: a partition is made of sets that are
 * there. */
static void set_all(struct cpusets *cpusets, const struct numalab_run_options *options)
{
    for (size_t key = 0; key < numalab_group_key_count; key++)
        for (size_t i = 0; i < options->group_setting_count; i++) {
            const struct numalab_group_setting *setting = &options->group_setting[i];
            if (setting->key != &numalab_group_keys[key]) continue;
            const char *file = setting->key->file;
            note_refusal(cpusets, setting->group, file, setting->value,
                         numalab_group_write(setting->group, file, setting->value));
        }
}

static int make_groups(struct cpusets *cpusets, const struct numalab_run_options *options)
{
    int error = numalab_groups_enable();
    for (size_t i = 0; error == 0 && i < PROGRAMS; i++)
        error = numalab_group_make(cpusets->program[i].group);
    if (error < 0) return fail(cpusets, "make control groups", error);
    set_all(cpusets, options);
    for (size_t i = 0; i < PROGRAMS; i++) {
        const struct program *program = &cpusets->program[i];
        note_refusal(cpusets, program->group, "cgroup.procs", "",
                     numalab_group_take_in(program->group, program->load.pid));
    }
    return 0;
}

/* ---- what is seen ---------------------------------------------------------------------- */

static int read_allowed_nodes(struct program *program)
{
    static const char key[] = "Mems_allowed_list:";
    char *line = NULL;
    size_t room = 0;
    int error = -ENODATA;
    FILE *file = numalab_proc_open(program->load.pid, "status");
    if (!file) return -errno;
    while (error && getline(&line, &room, file) > 0)
        if (strncmp(line, key, sizeof key - 1) == 0) {
            const char *list = line + sizeof key - 1;
            line[strcspn(line, "\n")] = '\0';
            list += strspn(list, " \t");
            error = hwloc_bitmap_list_sscanf(program->allowed_nodes, list) < 0 ? -EINVAL : 0;
        }
    free(line);
    fclose(file);
    return error;
}

/* Once more, beside what was seen before. */
static int observe_threads(struct program *program)
{
    struct numalab_threads threads;
    const int error = numalab_threads_read(program->load.pid, &threads);
    if (error < 0) return error;
    for (size_t i = 0; i < threads.count; i++) {
        const struct numalab_thread *thread = &threads.list[i];
        if (thread->allowed)
            hwloc_bitmap_or(program->allowed_pus, program->allowed_pus, thread->allowed);
        if (thread->last_pu >= 0) hwloc_bitmap_set(program->ran_on, (unsigned)thread->last_pu);
    }
    numalab_threads_free(&threads);
    return 0;
}

static bool covers_all_pus(const struct program *program, hwloc_const_bitmap_t machine)
{
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    if (usable) hwloc_bitmap_and(usable, program->allowed_pus, machine);
    const bool is_seen = usable && hwloc_bitmap_isincluded(usable, program->ran_on);
    hwloc_bitmap_free(usable);
    return is_seen;
}

static int observe(struct cpusets *cpusets, const struct numalab_run_options *options)
{
    struct pollfd cancel = {.fd = options->cancel_fd, .events = POLLIN};
    const hwloc_const_bitmap_t machine =
        hwloc_topology_get_topology_cpuset(options->node->topology);
    const double end_s = numalab_now_s() + max_observation_s;
    for (size_t at = 0; at < MIN_OBSERVATIONS || (numalab_now_s() < end_s &&
                                                  !covers_all_pus(&cpusets->program[JOB], machine));
         at++) {
        if (poll(&cancel, 1, OBSERVATION_INTERVAL_MS) > 0)
            return fail(cpusets, "look where threads run", -ECANCELED);
        for (size_t i = 0; i < PROGRAMS; i++) {
            const int error = observe_threads(&cpusets->program[i]);
            if (error < 0) return fail(cpusets, "look where threads run", error);
        }
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        struct program *program = &cpusets->program[i];
        const int error = read_allowed_nodes(program);
        if (error < 0) return fail(cpusets, "look which memory is allowed", error);
        for (size_t half = 0; half < NUMALAB_LOAD_HALVES; half++)
            program->pages_later[half] = pages_of(program, half);
    }
    return 0;
}

static json_t *list_of(hwloc_const_bitmap_t set, hwloc_const_bitmap_t machine)
{
    json_t *list = json_array();
    unsigned number;
    if (!set) return list;
    hwloc_bitmap_foreach_begin(number, set) if (hwloc_bitmap_isset(machine, number))
        json_array_append_new(list, json_integer((json_int_t)number));
    hwloc_bitmap_foreach_end();
    return list;
}

static json_t *text_of(const char *group, const char *file)
{
    char text[TEXT_BYTES];
    return numalab_group_read(group, file, text, sizeof text) == 0 ? json_string(text)
                                                                   : json_null();
}

static json_t *or_null(json_t *value)
{
    return value ? value : json_null();
}

static json_t *describe(struct program *program, const struct numalab_node *node)
{
    const hwloc_const_bitmap_t pus = hwloc_topology_get_topology_cpuset(node->topology);
    const hwloc_const_bitmap_t nodes = hwloc_topology_get_topology_nodeset(node->topology);
    json_t *described = json_pack(
        "{ss sI so so so so so so}", "group", program->group, "threads",
        (json_int_t)program->load.thread_count, "allowed_pus", list_of(program->allowed_pus, pus),
        "allowed_numa_nodes", list_of(program->allowed_nodes, nodes), "ran_on_pus",
        list_of(program->ran_on, pus), "pages_at_first", or_null(program->pages_at_first),
        "pages_of_first_half", or_null(program->pages_later[0]), "pages_of_second_half",
        or_null(program->pages_later[1]));
    for (size_t i = 0; i < numalab_group_key_count; i++)
        json_object_set_new(described, numalab_group_keys[i].name,
                            text_of(program->group, numalab_group_keys[i].file));
    hwloc_bitmap_free(program->allowed_pus);
    hwloc_bitmap_free(program->ran_on);
    hwloc_bitmap_free(program->allowed_nodes);
    return described;
}

/* Of two programs of the kit's: they run as if there were no groups, are put into theirs, and run
 * on. */
json_t *numalab_run_cpusets(const struct numalab_run_options *options)
{
    struct cpusets cpusets = {.program = {[JOB] = {.group = "job"}, [OTHERS] = {.group = "others"}},
                              .no_worker = numalab_no_worker,
                              .refusals = json_array()};
    cpusets.no_worker.limits.heartbeat = options->limits.heartbeat;

    if (start(&cpusets, options) == 0 && write_halves(&cpusets, options) == 0) {
        for (size_t i = 0; i < PROGRAMS; i++)
            cpusets.program[i].pages_at_first = pages_of(&cpusets.program[i], 0);
        if (make_groups(&cpusets, options) == 0 && write_halves(&cpusets, options) == 0) {
            for (size_t i = 0; i < PROGRAMS; i++)
                numalab_load_process_continue(&cpusets.program[i].load);
            observe(&cpusets, options);
        }
    }
    json_t *programs = json_array();
    for (size_t i = 0; i < PROGRAMS; i++)
        json_array_append_new(programs, describe(&cpusets.program[i], options->node));
    for (size_t i = 0; i < PROGRAMS; i++) {
        numalab_load_process_end(&cpusets.program[i].load);
        numalab_group_remove(cpusets.program[i].group);
    }
    return json_pack("{so so so}", "refusals", cpusets.refusals, "programs", programs, "outcome",
                     numalab_record_outcome(&cpusets.no_worker, options->driver));
}
