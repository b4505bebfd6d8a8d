/* Prints what a record says of this node, and which evidence can be had here.
 *
 *     describe_node [--root FOLDER] [--xml FILE]
 *
 * With --root or --xml the packages, cores and NUMA nodes are those of a recorded tree (FOLDER/sys
 * and FOLDER/proc) or of an export of hwloc; the rest is said of this node nevertheless. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node_record.h"
#include "processes/remote_memory.h"
#include "touch_map.h"

/* More than Linux knows: 8192 at most. */
enum { MOST_PUS = 16384 };

/* Runs probe against a child process that waits. Each returns 0 or a negative
 * errno. */
static int probe_child(int (*probe)(pid_t child, void *page), void *page)
{
    pid_t child = fork();
    if (child < 0) { /* says nothing of what is probed */
        fprintf(stderr, "describe_node: can't start a process: %s\n", strerror(errno));
        exit(EXIT_FAILURE);
    }
    if (child == 0) {
        pause();
        _exit(0);
    }
    int error = probe(child, page);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return error;
}

static int probe_read(pid_t child, void *page)
{
    char byte;
    struct iovec here = {&byte, 1}, there = {page, 1};
    return process_vm_readv(child, &here, 1, &there, 1, 0) == 1 ? 0 : -errno;
}

/* As the monitor does: by that call, or another way. */
static int probe_memory(pid_t child, void *page)
{
    char byte = 1;
    const struct iovec here = {&byte, 1}, there = {page, 1};
    const int error = numalab_remote_memory_read(child, (uintptr_t)page, &byte, 1);
    return error < 0 ? error : numalab_remote_memory_write(child, &here, &there, 1);
}

static int probe_watching(pid_t child, void *page)
{
    (void)page;
    const int descriptor = (int)syscall(SYS_pidfd_open, child, 0);
    if (descriptor < 0) return -errno;
    const int error = syscall(SYS_pidfd_send_signal, descriptor, 0, NULL, 0) < 0 ? -errno : 0;
    close(descriptor);
    return error;
}

/* To where it may run already, which changes nothing. */
static int probe_binding(pid_t child, void *page)
{
    cpu_set_t *set = CPU_ALLOC(MOST_PUS);
    const size_t bytes = CPU_ALLOC_SIZE(MOST_PUS);
    int error = set ? 0 : -ENOMEM;
    (void)page;
    if (!error && sched_getaffinity(child, bytes, set) < 0) error = -errno;
    if (!error && sched_setaffinity(child, bytes, set) < 0) error = -errno;
    CPU_FREE(set);
    return error;
}

/* What numactl and libnuma ask first; explorations place memory by its like. */
static int probe_policy(void)
{
    int policy;
    return syscall(SYS_get_mempolicy, &policy, NULL, 0ul, NULL, 0ul) < 0 ? -errno : 0;
}

/* What ThreadSanitizer does where addresses are too random for it: it has its program started once
 * more with fixed ones. Asked of this process, and taken back. */
static int probe_fixed_addresses(void)
{
    const int now = personality(0xffffffff);
    if (now < 0 || personality((unsigned long)now | ADDR_NO_RANDOMIZE) < 0) return -errno;
    personality((unsigned long)now);
    return 0;
}

static int probe_residency(pid_t child, void *page)
{
    int status = -1;
    return syscall(SYS_move_pages, child, 1ul, &page, NULL, &status, 0) < 0 ? -errno : 0;
}

static int probe_cpu_time(pid_t child, void *page)
{
    char path[64];
    (void)page;
    snprintf(path, sizeof path, "/proc/%d/schedstat", (int)child);
    return access(path, R_OK) < 0 ? -errno : 0;
}

static void add(json_t *object, const char *name, int error)
{
    json_object_set_new(object, name,
                        json_pack("{sb so}", "available", error == 0, "error",
                                  error == 0 ? json_null() : json_string(strerror(-error))));
}

/* hwloc ends the process by an assertion on trees that it does not know how to read. */
static void report_abort(int signal_number)
{
    static const char words[] =
        "describe_node: hwloc gave up on what the system tells of its PUs and NUMA nodes in "
        "/sys/devices/system (its own words are above); look whether a container or a mask hides a "
        "part of that folder\n";
    (void)signal_number;
    if (write(STDERR_FILENO, words, sizeof words - 1) < 0) _exit(EXIT_FAILURE);
    _exit(EXIT_FAILURE);
}

int main(int count, char **arguments)
{
    static const struct option options[] = {
        {"root", required_argument, NULL, 'r'}, {"xml", required_argument, NULL, 'x'}, {0}};
    const char *root = NULL, *xml = NULL;
    int option;
    while ((option = getopt_long(count, arguments, "", options, NULL)) != -1) {
        if (option == 'r')
            root = optarg;
        else if (option == 'x')
            xml = optarg;
        else
            return 2;
    }
    if (optind < count) {
        fprintf(stderr, "describe_node: '%s' is no option\n", arguments[optind]);
        return 2;
    }
    signal(SIGABRT, report_abort);
    struct numalab_node node;
    int error =
        root || xml ? numalab_node_open_recorded(&node, root, xml) : numalab_node_open(&node);
    if (error < 0) {
        fprintf(stderr, "describe_node: can't read the topology: %s\n", strerror(-error));
        return EXIT_FAILURE;
    }
    char *page = malloc(1);
    json_t *object = numalab_node_describe(&node), *evidence = json_object();
    if (!page || !object || !evidence) return EXIT_FAILURE;
    *page = 1;
    add(evidence, "userfaultfd", numalab_touch_map_probe());
    add(evidence, "process_vm_readv", probe_child(probe_read, page));
    add(evidence, "worker_memory", probe_child(probe_memory, page));
    add(evidence, "pidfd_open", probe_child(probe_watching, page));
    add(evidence, "sched_setaffinity", probe_child(probe_binding, page));
    add(evidence, "move_pages", probe_child(probe_residency, page));
    add(evidence, "get_mempolicy", probe_policy());
    add(evidence, "fixed_addresses", probe_fixed_addresses());
    add(evidence, "schedstat", probe_child(probe_cpu_time, page));
    json_object_set_new(object, "evidence", evidence);
    int written = json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(object);
    free(page);
    numalab_node_close(&node);
    return written == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
