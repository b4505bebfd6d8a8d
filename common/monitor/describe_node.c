/* Prints what a record says of this node, and which evidence can be had here. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "node.h"
#include "touch_map.h"

/* Runs probe against a child process that waits. Each returns 0 or a negative
 * errno. */
static int with_child(int (*probe)(pid_t child, void *page), void *page)
{
    pid_t child = fork();
    if (child < 0) return -errno;
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

int main(void)
{
    struct numalab_node node;
    int error = numalab_node_open(&node);
    if (error < 0) {
        fprintf(stderr, "describe_node: can't read the topology: %s\n", strerror(-error));
        return EXIT_FAILURE;
    }
    char *page = malloc(1);
    json_t *object = numalab_node_describe(&node), *evidence = json_object();
    if (!page || !object || !evidence) return EXIT_FAILURE;
    *page = 1;
    add(evidence, "userfaultfd", numalab_touch_map_probe());
    add(evidence, "process_vm_readv", with_child(probe_read, page));
    add(evidence, "move_pages", with_child(probe_residency, page));
    add(evidence, "schedstat", with_child(probe_cpu_time, page));
    json_object_set_new(object, "evidence", evidence);
    int written = json_dumpf(object, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(object);
    free(page);
    numalab_node_close(&node);
    return written == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
