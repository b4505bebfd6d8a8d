/* A program of the kit's own writes its memory when it is told to, half by half, and then works
 * until it is ended; control groups are a virtual node's only. */
#define _GNU_SOURCE
#include "monitor/load_process.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "expect.h"
#include "monitor/groups.h"
#include "monitor/proc.h"
#include "monitor/residency.h"

static int failures;

enum { THREADS = 3, PAGES = 20 };

static const double limit_s = 60.0;

/* Of a half, those that are there; -1: the system does not tell. */
static json_int_t count_pages_on(const struct numalab_load_process *load, size_t half)
{
    struct numalab_worker seen = numalab_no_worker;
    json_int_t sum = 0;
    size_t i;
    const json_t *entry;
    seen.pid = load->pid;
    json_t *list =
        numalab_residency_by_node(&seen, numalab_load_process_half(load, half), load->half_bytes);
    if (!json_is_array(list)) sum = -1;
    json_array_foreach(list, i, entry) if (json_integer_value(json_array_get(entry, 0)) >= 0) sum +=
        json_integer_value(json_array_get(entry, 1));
    json_decref(list);
    return sum;
}

static void test_halves(bool is_greedy, hwloc_topology_t topology)
{
    const struct numalab_load_plan plan = {
        .thread_count = THREADS,
        .pages_of_thread = PAGES,
        .is_greedy = is_greedy,
        .pus = hwloc_topology_get_topology_cpuset(topology),
        .numa_nodes = hwloc_topology_get_topology_nodeset(topology),
    };
    struct numalab_load_process load;
    EXPECT(numalab_load_process_start(&load, &plan) == 0);
    const json_int_t all = THREADS * PAGES;
    EXPECT(count_pages_on(&load, 0) <= 0 && count_pages_on(&load, 1) <= 0);
    EXPECT(numalab_load_process_write_half(&load, limit_s, -1) == 0);
    const json_int_t first = count_pages_on(&load, 0);
    EXPECT((first == all && count_pages_on(&load, 1) == 0) || first == -1);
    EXPECT(numalab_load_process_write_half(&load, limit_s, -1) == 0);
    EXPECT(count_pages_on(&load, 1) == (first == -1 ? -1 : all));
    /* It waits, and works on once it is told to: more CPU time than a program takes that waits. */
    double before_s = numalab_proc_cpu_s(load.pid);
    usleep(100 * 1000);
    EXPECT(numalab_proc_cpu_s(load.pid) < before_s + 0.06);
    before_s = numalab_proc_cpu_s(load.pid);
    numalab_load_process_continue(&load);
    while (numalab_proc_cpu_s(load.pid) < before_s + 0.02) usleep(1000);
    const pid_t pid = load.pid;
    numalab_load_process_end(&load);
    EXPECT(kill(pid, 0) < 0 && errno == ESRCH);
}

static void test_a_program_that_ends(hwloc_topology_t topology)
{
    const struct numalab_load_plan plan = {
        .thread_count = 1,
        .pages_of_thread = 1,
        .pus = hwloc_topology_get_topology_cpuset(topology),
        .numa_nodes = hwloc_topology_get_topology_nodeset(topology),
    };
    struct numalab_load_process load;
    EXPECT(numalab_load_process_start(&load, &plan) == 0);
    kill(load.pid, SIGSTOP);
    EXPECT(numalab_load_process_write_half(&load, 0.01, -1) == -ETIMEDOUT);
    kill(load.pid, SIGKILL);
    EXPECT(numalab_load_process_write_half(&load, limit_s, -1) == -ECHILD);
    numalab_load_process_end(&load);

    int cancel[2];
    EXPECT(pipe(cancel) == 0 && write(cancel[1], "x", 1) == 1);
    EXPECT(numalab_load_process_start(&load, &plan) == 0);
    kill(load.pid, SIGSTOP);
    EXPECT(numalab_load_process_write_half(&load, limit_s, cancel[0]) == -ECANCELED);
    numalab_load_process_end(&load);
    close(cancel[0]);
    close(cancel[1]);
}

/* On no machine of anybody's are groups made. */
static void test_groups(void)
{
    char text[16];
    EXPECT(numalab_groups_enable() == -ENOENT);
    EXPECT(numalab_group_make("job") == -ENOENT);
    EXPECT(numalab_group_write("job", "cpuset.cpus", "0") == -ENOENT);
    EXPECT(numalab_group_read("job", "cpuset.cpus", text, sizeof text) == -ENOENT);
    EXPECT(numalab_group_remove("job") == -ENOENT);
}

int main(void)
{
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) < 0 || hwloc_topology_load(topology) < 0) return 1;
    test_halves(false, topology);
    test_halves(true, topology);
    test_a_program_that_ends(topology);
    test_groups();
    hwloc_topology_destroy(topology);
    return failures > 0;
}
