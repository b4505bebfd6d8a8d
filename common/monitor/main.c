/* The monitor of a lab: does one run and prints its record as JSON. */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "monitor/proc.h"
#include "monitor/runs/runs.h"
#include "monitor/processes/sandbox.h"

enum { EXIT_RECORDED = 0, EXIT_MISUSE = 2, EXIT_NO_RECORD = 3 };

static const struct run_kind {
    const char *name;
    json_t *(*run)(const struct numalab_run_options *options);
} run_kinds[] = {
    {"check", numalab_run_check},
    {"trace", numalab_run_trace},
    {"placement", numalab_run_placement},
    {"binding", numalab_run_binding},
    {"locate", numalab_run_locate},
    {"memory", numalab_run_memory},
    {"race", numalab_run_race},
    {"ranks", numalab_run_ranks},
    {"thread_level", numalab_run_thread_level},
    {"latency", numalab_run_latency},
    {"generation", numalab_run_generation},
};

static const char usage[] =
    "usage: LAB-monitor RUN --worker ROLE=PROGRAM ...\n"
    "  RUN: check, trace, placement, binding, locate, memory, race, generation; of labs\n"
    "       with MPI also ranks, thread_level, latency\n"
    "  --set ROLE:KEY=VALUE  of that role's environment\n"
    "  --ranks ROLE:N      ranks of that role's job (1)\n"
    "  --launch ROLE:WORD  a word for mpiexec, such as -bind-to, and another for core\n"
    "  --synchronous-sends check: every send of a rank waits for its receive\n"
    "  --cut ROLE:SECONDS  generation: a repetition that takes longer is the role's last, and\n"
    "                      counts as having taken that long\n"
    "  --part NAME         which of the lab's kernels (the first)\n"
    "  --threads N         size of the team that the kit asks for (one a core)\n"
    "  --size NAME         quick, default or published\n"
    "  --repetitions N     timed repetitions of each role in a generation (3)\n"
    "  --budget-s SECONDS  generation: start no further round of repetitions after\n"
    "                      this, but do one for each role (60)\n"
    "  --one-at-a-time     generation: one worker after another, not interleaved\n"
    "  --traced-pages N    trace, placement: about so many in all (by size)\n"
    "  --order NAME        trace: natural, ascending or descending\n"
    "  --touch-map METHOD  trace: userfaultfd or in_process\n"
    "  --limit-s SECONDS   wall time that one phase may take (10)\n"
    "  --sandbox CONFINE   start workers in a sandbox: by bubblewrap, whose command is given\n"
    "  --sandbox-word WORD word by word, and the kit's own program CONFINE inside it\n"
    "  --soft-ends         let kernels read a page beyond each array: QEMU's emulation\n"
    "                      of scalar instructions loads whole vectors\n"
    "Prints one record as JSON (common/schema/) and exits 0; 2 on misuse, 3 when\n"
    "there is no record. SIGINT and SIGTERM end the run; its record is printed.\n";

static int misuse(const char *what, const char *value)
{
    fprintf(stderr, "monitor: %s%s%s\n%s", what, value ? ": " : "", value ? value : "", usage);
    return EXIT_MISUSE;
}

/* Number of the name in a list that ends with NULL, or -1. */
static int position(const char *const *names, const char *name)
{
    for (int i = 0; names[i]; i++)
        if (strcmp(names[i], name) == 0) return i;
    return -1;
}

static int add_role(struct numalab_run_options *options, char *value)
{
    char *equals = strchr(value, '=');
    if (!equals || options->role_count == NUMALAB_MAX_ROLES) return -EINVAL;
    *equals = '\0';
    options->role[options->role_count++] =
        (struct numalab_role){.name = value, .program = equals + 1, .rank_count = 1};
    return 0;
}

/* Of ROLE:VALUE, a role that was added before; *value is what follows. */
static struct numalab_role *find_role(struct numalab_run_options *options, char *text,
                                      char **value)
{
    char *colon = strchr(text, ':');
    if (!colon) return NULL;
    *colon = '\0';
    *value = colon + 1;
    for (size_t i = 0; i < options->role_count; i++)
        if (strcmp(options->role[i].name, text) == 0) return &options->role[i];
    return NULL;
}

static int add_variable(struct numalab_run_options *options, char *text)
{
    char *name;
    struct numalab_role *role = find_role(options, text, &name);
    char *equals = role ? strchr(name, '=') : NULL;
    if (!equals || role->variables.count == NUMALAB_MAX_SET_VARIABLES) return -EINVAL;
    *equals = '\0';
    return numalab_variables_set(&role->variables, name, equals + 1);
}

static int add_launch_word(struct numalab_run_options *options, char *text)
{
    char *word;
    struct numalab_role *role = find_role(options, text, &word);
    if (!role || role->launch_word_count == NUMALAB_MAX_LAUNCH_WORDS) return -EINVAL;
    role->launch_word[role->launch_word_count++] = word;
    return 0;
}

static int set_rank_count(struct numalab_run_options *options, char *text)
{
    char *count;
    struct numalab_role *role = find_role(options, text, &count);
    if (!role) return -EINVAL;
    role->rank_count = strtoul(count, NULL, 10);
    return role->rank_count >= 1 && role->rank_count <= NUMALAB_MAX_RANKS ? 0 : -EINVAL;
}

static int set_cut(struct numalab_run_options *options, char *text)
{
    char *seconds;
    struct numalab_role *role = find_role(options, text, &seconds);
    if (!role) return -EINVAL;
    role->cut_s = strtod(seconds, NULL);
    return role->cut_s > 0 ? 0 : -EINVAL;
}

static const struct numalab_driver *find_part(const char *name)
{
    for (const struct numalab_driver *const *driver = numalab_drivers; *driver; driver++)
        if ((*driver)->part && strcmp((*driver)->part, name) == 0) return *driver;
    return NULL;
}

/* Whatever the workers' kernels may have started is ours by now: end it. */
static void end_orphans(void)
{
    enum { MOST_ROUNDS = 1000 };
    /* Their own children become ours as they end, so it takes rounds. */
    for (int round = 0; round < MOST_ROUNDS; round++) {
        FILE *file = numalab_proc_open_thread(getpid(), getpid(), "children");
        int pid;
        while (file && fscanf(file, "%d", &pid) == 1) kill((pid_t)pid, SIGKILL);
        if (file) fclose(file);
        while (waitpid(-1, NULL, WNOHANG) > 0) continue;
        if (waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD) return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

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

int main(int argc, char **argv)
{
    static const char *const orders[] = {"natural", "ascending", "descending", NULL};
    static const char *const methods[] = {"userfaultfd", "in_process", NULL};
    static const struct option long_options[] = {
        {"worker", required_argument, NULL, 'w'},
        {"set", required_argument, NULL, 'v'},
        {"ranks", required_argument, NULL, 'n'},
        {"launch", required_argument, NULL, 'x'},
        {"synchronous-sends", no_argument, NULL, 'y'},
        {"cut", required_argument, NULL, 'c'},
        {"part", required_argument, NULL, 'k'},
        {"threads", required_argument, NULL, 't'},
        {"size", required_argument, NULL, 's'},
        {"repetitions", required_argument, NULL, 'r'},
        {"budget-s", required_argument, NULL, 'b'},
        {"one-at-a-time", no_argument, NULL, '1'},
        {"traced-pages", required_argument, NULL, 'p'},
        {"order", required_argument, NULL, 'o'},
        {"touch-map", required_argument, NULL, 'm'},
        {"limit-s", required_argument, NULL, 'l'},
        {"soft-ends", no_argument, NULL, 'e'},
        {"sandbox", required_argument, NULL, 'f'},
        {"sandbox-word", required_argument, NULL, 'g'},
        {0},
    };
    struct numalab_run_options options = {
        .driver = numalab_drivers[0],
        .size = NUMALAB_DEFAULT,
        .repetitions = 3,
        .budget_s = 60.0,
        .limits = {.phase_s = 10.0,
                   .memory_bytes = (uint64_t)512 << 20,
                   .output_bytes = (uint64_t)16 << 20},
    };
    struct numalab_sandbox sandbox = {.word_count = 0};
    const struct run_kind *kind = NULL;
    for (size_t i = 0; argc > 1 && i < sizeof run_kinds / sizeof run_kinds[0]; i++)
        if (strcmp(argv[1], run_kinds[i].name) == 0) kind = &run_kinds[i];
    if (!kind) return misuse("unknown run", argc > 1 ? argv[1] : "none given");

    optind = 2;
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        int chosen = 0;
        switch (option) {
        case 'w':
            chosen = add_role(&options, optarg);
            break;
        case 'v':
            chosen = add_variable(&options, optarg);
            break;
        case 'n':
            chosen = set_rank_count(&options, optarg);
            break;
        case 'x':
            chosen = add_launch_word(&options, optarg);
            break;
        case 'y':
            options.synchronous_sends = true;
            break;
        case 'c':
            chosen = set_cut(&options, optarg);
            break;
        case 'k':
            options.driver = find_part(optarg);
            chosen = options.driver ? 0 : -EINVAL;
            break;
        case 't':
            options.thread_count = strtoul(optarg, NULL, 10);
            break;
        case 's':
            chosen = numalab_size_parse(optarg, &options.size);
            break;
        case 'r':
            options.repetitions = strtoul(optarg, NULL, 10);
            break;
        case 'b':
            options.budget_s = strtod(optarg, NULL);
            break;
        case '1':
            options.one_at_a_time = true;
            break;
        case 'p':
            options.traced_pages = strtoul(optarg, NULL, 10);
            break;
        case 'o':
            chosen = position(orders, optarg);
            options.touch_order = (enum numalab_touch_order)chosen;
            break;
        case 'm':
            chosen = position(methods, optarg);
            options.touch_method = (enum numalab_touch_method)chosen;
            break;
        case 'l':
            options.limits.phase_s = strtod(optarg, NULL);
            break;
        case 'e':
            options.limits.soft_ends = true;
            break;
        case 'f':
            sandbox.confine = optarg;
            break;
        case 'g':
            chosen = sandbox.word_count < NUMALAB_MAX_SANDBOX_WORDS ? 0 : -E2BIG;
            if (chosen == 0) sandbox.word[sandbox.word_count++] = optarg;
            break;
        default:
            return misuse("unknown option", NULL);
        }
        if (chosen < 0) return misuse("bad value", optarg);
    }
    if (options.role_count == 0) return misuse("no --worker given", NULL);
    if (options.role_count > 1 && kind->run != numalab_run_generation)
        return misuse("only a generation takes more than one --worker", NULL);
    if (kind->run == numalab_run_latency && !options.driver->repetitions)
        return misuse("no ping-pong, so there is no latency", options.driver->lab);
    if ((kind->run == numalab_run_ranks || kind->run == numalab_run_thread_level) &&
        !options.driver->rank_counts)
        return misuse("a lab without MPI", options.driver->lab);
    if (options.repetitions < 1) return misuse("--repetitions must be at least 1", NULL);
    if (!(options.limits.phase_s > 0)) return misuse("--limit-s must be above 0", NULL);

    if ((sandbox.confine != NULL) != (sandbox.word_count > 0))
        return misuse("--sandbox and --sandbox-word need each other", NULL);
    if (sandbox.confine) options.limits.sandbox = &sandbox;

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    struct numalab_node node;
    int error = numalab_node_open(&node);
    if (error < 0) {
        fprintf(stderr, "monitor: can't read the topology: %s\n", strerror(-error));
        return EXIT_NO_RECORD;
    }
    options.node = &node;
    if (options.thread_count == 0) options.thread_count = node.core_count;
    if (options.traced_pages == 0) options.traced_pages = numalab_traced_pages(options.size);
    options.limits.thread_count = options.thread_count;
    options.cancel_fd = open_cancel_fd();

    json_t *record = kind->run(&options);
    end_orphans();
    if (record) {
        const struct numalab_driver *driver = options.driver;
        json_object_set_new(record, "lab", json_string(driver->lab));
        json_object_set_new(record, "part",
                            driver->part ? json_string(driver->part) : json_null());
        json_object_set_new(record, "team", json_integer((json_int_t)options.thread_count));
    }
    int written = record ? json_dumpf(record, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) : -1;
    if (written == 0) putchar('\n');
    json_decref(record);
    numalab_node_close(&node);
    if (written < 0 || fflush(stdout) != 0) {
        fprintf(stderr, "monitor: no record could be written\n");
        return EXIT_NO_RECORD;
    }
    return EXIT_RECORDED;
}
