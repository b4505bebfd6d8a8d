/* The monitor of a lab: does one run and prints its record as JSON. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "monitor/options.h"
#include "monitor/processes/heartbeat.h"
#include "monitor/proc.h"
#include "monitor/random.h"
#include "monitor/runs/runs.h"

enum { EXIT_RECORDED = 0, EXIT_MISUSE = 2, EXIT_NO_RECORD = 3 };

static int open_cancel_fd(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    return signalfd(-1, &signals, SFD_CLOEXEC);
}

/* Does the run and adds to its record what every record has. NULL without memory. */
static json_t *record_of(const struct numalab_run *run, const struct numalab_run_options *options)
{
    const struct numalab_driver *driver = options->driver;
    json_t *seen = run->function(options);
    json_t *record = json_pack("{ss ss so sI}", "kind", run->name, "lab", driver->lab, "part",
                               driver->part ? json_string(driver->part) : json_null(), "team",
                               (json_int_t)options->thread_count);
    if (run->needs != NUMALAB_NEEDS_ROLES && run->needs != NUMALAB_NEEDS_NO_ROLE)
        json_object_set_new(record, "role", json_string(options->role[0].name));
    const int error = json_object_update(record, seen);
    json_decref(seen);
    if (error == 0) return record;
    json_decref(record);
    return NULL;
}

static int print(const json_t *record)
{
    if (record && json_dumpf(record, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0 &&
        putchar('\n') != EOF && fflush(stdout) == 0)
        return EXIT_RECORDED;
    fprintf(stderr, "monitor: no record could be written\n");
    return EXIT_NO_RECORD;
}

/* A copy of what argv points to, which lasts as long as the process. What comes behind the
 * program's name is wiped there, where every process of the user's can read it, and so a kernel
 * whether it is timed. Returns NULL without memory. */
static char **take_arguments(int argc, char **argv)
{
    char **taken = calloc((size_t)argc + 1, sizeof *taken);
    for (int i = 0; taken && i < argc; i++) {
        taken[i] = strdup(argv[i]);
        if (!taken[i]) return NULL;
        if (i > 0) memset(argv[i], 0, strlen(argv[i]));
    }
    return taken;
}

int main(int argc, char **argv)
{
    struct numalab_run_options options;
    char **arguments = take_arguments(argc, argv);
    if (!arguments) {
        fprintf(stderr, "monitor: no memory\n");
        return EXIT_NO_RECORD;
    }
    const struct numalab_run *run = numalab_options_parse(&options, argc, arguments);
    if (!run) return EXIT_MISUSE;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct numalab_node node;
    int error = numalab_node_open(&node);
    if (error < 0) {
        fprintf(stderr, "monitor: can't read the topology: %s\n", strerror(-error));
        return EXIT_NO_RECORD;
    }
    if (options.line_bytes) node.line_bytes = options.line_bytes;
    options.node = &node;
    if (options.thread_count == 0) options.thread_count = node.core_count;
    struct numalab_sampling *sampling = &options.sampling;
    sampling->team = options.thread_count;
    if (sampling->traced_pages == 0) sampling->traced_pages = numalab_traced_pages(options.size);
    struct numalab_random random;
    error = options.has_seed ? 0 : numalab_random_open(&random);
    if (error < 0) {
        fprintf(stderr, "monitor: can't seed the random numbers: %s\n", strerror(-error));
        return EXIT_NO_RECORD;
    }
    if (!options.has_seed) sampling->seed = random.seed;
    options.limits.thread_count = options.thread_count;
    options.cancel_fd = open_cancel_fd();
    options.limits.heartbeat = numalab_heartbeat_start();

    json_t *record = record_of(run, &options);
    numalab_proc_end_children();
    const int exit_code = print(record);
    json_decref(record);
    numalab_heartbeat_stop(options.limits.heartbeat);
    numalab_node_close(&node);
    return exit_code;
}
