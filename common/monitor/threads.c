#define _GNU_SOURCE
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "proc.h"

enum { MOST_PUS = 1 << 13 };

static void read_stat(pid_t pid, struct numalab_thread *thread)
{
    char line[1024];
    FILE *file = numalab_proc_open_thread(pid, thread->id, "stat");
    if (!file) return;
    if (fgets(line, sizeof line, file)) {
        /* Field 2 is a name in brackets that may hold anything; field 3 follows
         * the last bracket, the start time is field 22, the PU field 39. */
        char *field = strrchr(line, ')');
        char *rest = NULL;
        int number = 2;
        for (field = field ? strtok_r(field + 1, " ", &rest) : NULL; field;
             field = strtok_r(NULL, " ", &rest)) {
            number++;
            if (number == 22) thread->start_ticks = strtoull(field, NULL, 10);
            if (number == 39) thread->last_pu = (int)strtol(field, NULL, 10);
        }
    }
    fclose(file);
}

/* The last number of a line such as "NSpid: 4711 12": the id in the innermost namespace. */
static pid_t last_number(const char *line)
{
    const char *last = strrchr(line, '\t');
    return last ? (pid_t)strtol(last + 1, NULL, 10) : 0;
}

static void read_status(pid_t pid, struct numalab_thread *thread)
{
    char *line = NULL;
    size_t room = 0;
    FILE *file = numalab_proc_open_thread(pid, thread->id, "status");
    if (!file) return;
    static const char key[] = "Cpus_allowed_list:", own_key[] = "NSpid:";
    while (getline(&line, &room, file) > 0)
        if (strncmp(line, own_key, sizeof own_key - 1) == 0) {
            thread->own_id = last_number(line);
        } else if (strncmp(line, key, sizeof key - 1) == 0) {
            line[strcspn(line, "\n")] = '\0';
            thread->allowed = hwloc_bitmap_alloc();
            if (thread->allowed)
                hwloc_bitmap_list_sscanf(thread->allowed, line + sizeof key - 1 +
                                                              strspn(line + sizeof key - 1, " \t"));
            break;
        }
    free(line);
    fclose(file);
}

static void read_schedstat(pid_t pid, pid_t id, double *cpu_s, double *runqueue_wait_s)
{
    unsigned long long on_cpu_ns = 0, waiting_ns = 0;
    *cpu_s = *runqueue_wait_s = 0.0;
    FILE *file = numalab_proc_open_thread(pid, id, "schedstat");
    if (!file) return;
    if (fscanf(file, "%llu %llu", &on_cpu_ns, &waiting_ns) == 2) {
        *cpu_s = 1e-9 * (double)on_cpu_ns;
        *runqueue_wait_s = 1e-9 * (double)waiting_ns;
    }
    fclose(file);
}

double numalab_threads_cpu_s(pid_t pid, pid_t id)
{
    double cpu_s, runqueue_wait_s;
    read_schedstat(pid, id, &cpu_s, &runqueue_wait_s);
    return cpu_s;
}

double numalab_threads_runqueue_wait_s(pid_t pid, pid_t id)
{
    double cpu_s, runqueue_wait_s;
    read_schedstat(pid, id, &cpu_s, &runqueue_wait_s);
    return runqueue_wait_s;
}

/* State of a thread as /proc shows it, 'X' if it has ended. */
static char state_of(pid_t pid, pid_t id)
{
    char line[1024], state = 'X';
    FILE *file = numalab_proc_open_thread(pid, id, "stat");
    if (!file) return state;
    if (fgets(line, sizeof line, file)) {
        const char *name_end = strrchr(line, ')');
        if (name_end && name_end[1] == ' ') state = name_end[2];
    }
    fclose(file);
    return state;
}

bool numalab_threads_is_runnable(pid_t pid, pid_t id)
{
    return state_of(pid, id) == 'R';
}

bool numalab_threads_is_stopped(pid_t pid, pid_t id)
{
    const char state = state_of(pid, id);
    return state == 'T' || state == 't' || state == 'X' || state == 'Z';
}

bool numalab_threads_all_stopped(pid_t pid)
{
    char path[64];
    bool stopped = true;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return true;
    for (struct dirent *entry; stopped && (entry = readdir(folder));) {
        const pid_t id = numalab_proc_number(entry->d_name);
        stopped = id <= 0 || numalab_threads_is_stopped(pid, id);
    }
    closedir(folder);
    return stopped;
}

static int compare_creation(const void *first, const void *second)
{
    const struct numalab_thread *a = first, *b = second;
    if (a->start_ticks != b->start_ticks) return a->start_ticks < b->start_ticks ? -1 : 1;
    /* In the same tick ids tell. They begin anew when they have reached the largest, so
     * what counts is how far they are from the main thread's. */
    return (a->id_distance > b->id_distance) - (a->id_distance < b->id_distance);
}

int numalab_threads_read(pid_t pid, struct numalab_threads *threads)
{
    char path[64];
    *threads = (struct numalab_threads){0};
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return -errno;
    size_t room = 0;
    for (struct dirent *entry; (entry = readdir(folder));) {
        pid_t id = numalab_proc_number(entry->d_name);
        if (id <= 0) continue;
        if (threads->count == room) {
            room = room ? 2 * room : 64;
            struct numalab_thread *list = realloc(threads->list, room * sizeof *list);
            if (!list) {
                closedir(folder);
                numalab_threads_free(threads);
                return -ENOMEM;
            }
            threads->list = list;
        }
        struct numalab_thread *thread = &threads->list[threads->count++];
        *thread = (struct numalab_thread){
            .id = id, .own_id = id, .id_distance = (uint32_t)id - (uint32_t)pid, .last_pu = -1};
        read_stat(pid, thread);
        read_status(pid, thread);
        read_schedstat(pid, id, &thread->cpu_s, &thread->runqueue_wait_s);
    }
    closedir(folder);
    if (threads->count)
        qsort(threads->list, threads->count, sizeof *threads->list, compare_creation);
    return 0;
}

void numalab_threads_free(struct numalab_threads *threads)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].allowed) hwloc_bitmap_free(threads->list[i].allowed);
    free(threads->list);
    *threads = (struct numalab_threads){0};
}

int numalab_threads_number(const struct numalab_threads *threads, pid_t id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].id == id) return (int)i;
    return -1;
}

int numalab_threads_number_of_own(const struct numalab_threads *threads, pid_t own_id)
{
    for (size_t i = 0; i < threads->count; i++)
        if (threads->list[i].own_id == own_id) return (int)i;
    return -1;
}

/* As the thread knows it; 0 if it has ended. */
static pid_t own_id_of(pid_t pid, pid_t id)
{
    struct numalab_thread thread = {.id = id};
    read_status(pid, &thread);
    if (thread.allowed) hwloc_bitmap_free(thread.allowed);
    return thread.own_id;
}

pid_t numalab_threads_id_of_own(pid_t pid, pid_t own_id)
{
    const pid_t own_main = own_id_of(pid, pid);
    if (own_main == 0 || own_main == pid) return own_id;
    /* Both are counted up, and where nothing else is started they keep their distance. */
    const pid_t likely = pid + (own_id - own_main);
    if (likely > 0 && own_id_of(pid, likely) == own_id) return likely;
    struct numalab_threads threads;
    pid_t found = own_id;
    if (numalab_threads_read(pid, &threads) < 0) return own_id;
    for (size_t i = 0; i < threads.count; i++)
        if (threads.list[i].own_id == own_id) found = threads.list[i].id;
    numalab_threads_free(&threads);
    return found;
}

/* Field 39 of stat, the PU that a thread is on; -1: not known. */
static int read_pu(pid_t pid, pid_t id)
{
    struct numalab_thread thread = {.last_pu = -1};
    thread.id = id;
    read_stat(pid, &thread);
    return thread.last_pu;
}

struct numalab_location numalab_threads_locate(pid_t pid, pid_t id, const struct numalab_node *node)
{
    unsigned long set[MOST_PUS / (8 * sizeof(unsigned long))];
    struct numalab_location location = {-1, -1, -1};
    const long bytes = syscall(SYS_sched_getaffinity, id, sizeof set, set);
    if (bytes <= 0) return location; /* it has ended */
    hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
    if (!allowed) return location;
    hwloc_bitmap_from_ulongs(allowed, (unsigned)((size_t)bytes / sizeof *set), set);
    hwloc_bitmap_and(allowed, allowed, hwloc_topology_get_topology_cpuset(node->topology));
    const bool is_one = hwloc_bitmap_weight(allowed) == 1;
    location.pu = is_one ? hwloc_bitmap_first(allowed) : read_pu(pid, id);
    location.core = numalab_core_of_pus(node, allowed);
    location.numa_node = numalab_node_of_pus(node, allowed);
    hwloc_bitmap_free(allowed);
    return location;
}

struct numalab_location numalab_threads_location_of(const struct numalab_node *node, int pu,
                                                    int allowed_count)
{
    struct numalab_location location = {pu, -1, -1};
    hwloc_obj_t object = pu < 0 ? NULL : hwloc_get_pu_obj_by_os_index(node->topology, (unsigned)pu);
    if (!object || allowed_count <= 0) return location;
    hwloc_obj_t core = hwloc_get_ancestor_obj_by_type(node->topology, HWLOC_OBJ_CORE, object);
    hwloc_const_bitmap_t own = core ? core->cpuset : object->cpuset;
    /* As many as a core has are taken to be a core's, since the kit binds threads to cores. */
    if (allowed_count > hwloc_bitmap_weight(own)) return location;
    location.core = numalab_core_of_pus(node, own);
    location.numa_node = numalab_node_of_pus(node, own);
    return location;
}

json_t *numalab_threads_describe(const struct numalab_threads *threads,
                                 const struct numalab_node *node)
{
    json_t *list = json_array();
    for (size_t i = 0; i < threads->count; i++) {
        const struct numalab_thread *thread = &threads->list[i];
        json_t *allowed = json_array();
        int pu;
        if (thread->allowed) {
            /* Restrict to what exists: an unbound thread may use "all". */
            hwloc_bitmap_and(thread->allowed, thread->allowed,
                             hwloc_topology_get_topology_cpuset(node->topology));
            hwloc_bitmap_foreach_begin(pu, thread->allowed)
                json_array_append_new(allowed, json_integer(pu));
            hwloc_bitmap_foreach_end();
        }
        bool known = thread->allowed != NULL;
        json_array_append_new(
            list, json_pack("{si so si si si si}", "thread", (int)i, "allowed_pus", allowed,
                            "last_pu", thread->last_pu, "core",
                            known ? numalab_core_of_pus(node, thread->allowed) : -1, "package",
                            known ? numalab_package_of_pus(node, thread->allowed) : -1, "numa_node",
                            known ? numalab_node_of_pus(node, thread->allowed) : -1));
    }
    return list;
}
