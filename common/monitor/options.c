#define _GNU_SOURCE
#include "options.h"

#include <errno.h>
#include <float.h>
#include <getopt.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"

/* Seconds and counts that nobody waits for or has room for are mistakes. */
enum { MOST_THREADS = 1 << 16, MOST_REPETITIONS = 1000 * 1000, MOST_SECONDS = 1000 * 1000 };

/* ---- what each does: returns 0, or a negative errno where the value is none ---------------- */

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
static struct numalab_role *find_role(struct numalab_run_options *options, char *text, char **value)
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

static int set_rank_count(struct numalab_run_options *options, char *text)
{
    char *text_of_count;
    uint64_t count;
    struct numalab_role *role = find_role(options, text, &text_of_count);
    if (!role || numalab_read_whole(text_of_count, 1, NUMALAB_MAX_RANKS, &count) < 0)
        return -EINVAL;
    role->rank_count = count;
    return 0;
}

static int add_launch_word(struct numalab_run_options *options, char *text)
{
    char *word;
    struct numalab_role *role = find_role(options, text, &word);
    if (!role || role->launch_word_count == NUMALAB_MAX_LAUNCH_WORDS) return -EINVAL;
    role->launch_word[role->launch_word_count++] = word;
    return 0;
}

static int set_cut(struct numalab_run_options *options, char *text)
{
    char *seconds;
    struct numalab_role *role = find_role(options, text, &seconds);
    return role ? numalab_read_decimal(seconds, DBL_MIN, MOST_SECONDS, &role->cut_s) : -EINVAL;
}

/* A role that was added before; NULL: none of that name. */
static struct numalab_role *named(struct numalab_run_options *options, const char *name)
{
    for (size_t i = 0; i < options->role_count; i++)
        if (strcmp(options->role[i].name, name) == 0) return &options->role[i];
    return NULL;
}

static int set_reference(struct numalab_run_options *options, char *name)
{
    struct numalab_role *role = named(options, name);
    if (!role) return -EINVAL;
    role->is_reference = true;
    return 0;
}

static int set_may_fail(struct numalab_run_options *options, char *name)
{
    struct numalab_role *role = named(options, name);
    if (!role) return -EINVAL;
    role->may_fail = true;
    return 0;
}

static int set_synchronous_sends(struct numalab_run_options *options, char *unused)
{
    (void)unused;
    options->synchronous_sends = true;
    return 0;
}

static int set_part(struct numalab_run_options *options, char *name)
{
    for (const struct numalab_driver *const *driver = numalab_drivers; *driver; driver++)
        if ((*driver)->part && strcmp((*driver)->part, name) == 0) {
            options->driver = *driver;
            return 0;
        }
    return -EINVAL;
}

static int set_size(struct numalab_run_options *options, char *name)
{
    return numalab_size_parse(name, &options->size);
}

static int set_single_thread(struct numalab_run_options *options, char *unused)
{
    (void)unused;
    options->has_single_thread_run = true;
    return 0;
}

static int set_memory_policy(struct numalab_run_options *options, char *policy)
{
    options->memory_policy = policy;
    return 0;
}

static int set_fills_node(struct numalab_run_options *options, char *unused)
{
    (void)unused;
    options->fills_node = true;
    return 0;
}

/* NAME:KEY=VALUE; VALUE may be empty. */
static int add_group_setting(struct numalab_run_options *options, char *text)
{
    static const char *const groups[] = {"job", "others"};
    char *colon = strchr(text, ':'), *equals = colon ? strchr(colon, '=') : NULL;
    struct numalab_group_setting *setting = &options->group_setting[options->group_setting_count];
    if (!equals || options->group_setting_count == NUMALAB_MAX_GROUP_SETTINGS) return -EINVAL;
    *colon = *equals = '\0';
    *setting = (struct numalab_group_setting){.value = equals + 1};
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        if (strcmp(text, groups[i]) == 0) setting->group = groups[i];
    for (size_t i = 0; i < numalab_group_key_count; i++)
        if (strcmp(colon + 1, numalab_group_keys[i].name) == 0)
            setting->key = &numalab_group_keys[i];
    options->group_setting_count++;
    return setting->group && setting->key ? 0 : -EINVAL;
}

static int set_sequential(struct numalab_run_options *options, char *unused)
{
    (void)unused;
    options->is_sequential = true;
    return 0;
}

static int set_seed(struct numalab_run_options *options, char *digits)
{
    options->has_seed = true;
    return numalab_read_hex(digits, &options->sampling.seed);
}

static int set_order(struct numalab_run_options *options, char *name)
{
    return numalab_touch_order_parse(name, &options->touch_order);
}

static int set_touch_map(struct numalab_run_options *options, char *name)
{
    return numalab_touch_method_parse(name, &options->touch_method);
}

static int set_confine(struct numalab_run_options *options, char *program)
{
    options->sandbox.confine = program;
    return 0;
}

static int add_sandbox_word(struct numalab_run_options *options, char *word)
{
    if (options->sandbox.word_count == NUMALAB_MAX_SANDBOX_WORDS) return -E2BIG;
    options->sandbox.word[options->sandbox.word_count++] = word;
    return 0;
}

static int set_sandbox_user(struct numalab_run_options *options, char *number)
{
    uint64_t user;
    /* The largest is no user: setuid takes it for "as before". */
    const int error = numalab_read_whole(number, 0, (uid_t)-2, &user);
    if (error < 0) return error;
    options->sandbox.user = (uid_t)user;
    options->sandbox.has_user = true;
    return 0;
}

static int set_soft_ends(struct numalab_run_options *options, char *unused)
{
    (void)unused;
    options->limits.soft_ends = true;
    return 0;
}

/* ---- all of them --------------------------------------------------------------------------- */

/* Options that are a number of numalab_run_options, a size_t or a double, taken as it is. */
static const struct number {
    const char *option;
    size_t offset;
    double least, most;
    enum { WHOLE, DECIMAL } kind;
} numbers[] = {
    {"threads", offsetof(struct numalab_run_options, thread_count), 1, MOST_THREADS, WHOLE},
    {"least-repetitions", offsetof(struct numalab_run_options, rounds.least), 1, MOST_REPETITIONS,
     WHOLE},
    {"most-repetitions", offsetof(struct numalab_run_options, rounds.most), 1, MOST_REPETITIONS,
     WHOLE},
    {"repeat-share", offsetof(struct numalab_run_options, rounds.share), 0, MOST_SECONDS, DECIMAL},
    {"budget-s", offsetof(struct numalab_run_options, rounds.budget_s), 0, MOST_SECONDS, DECIMAL},
    {"traced-pages", offsetof(struct numalab_run_options, sampling.traced_pages), 1, 1e12, WHOLE},
    {"n", offsetof(struct numalab_run_options, n), 1, 1e12, WHOLE},
    {"line-bytes", offsetof(struct numalab_run_options, line_bytes), 64, 256, WHOLE},
    {"limit-s", offsetof(struct numalab_run_options, limits.phase_s), DBL_MIN, MOST_SECONDS,
     DECIMAL},
};

/* NULL where an option is none of them. */
static const struct number *find_number(const char *option)
{
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (strcmp(numbers[i].option, option) == 0) return &numbers[i];
    return NULL;
}

/* argument: what follows it, or NULL. help: another line after each newline. apply: NULL of those
 * of numbers. */
static const struct option_row {
    const char *name, *argument;
    int (*apply)(struct numalab_run_options *options, char *value);
    const char *help;
} rows[] = {
    {"worker", "ROLE=PROGRAM", add_role, "what plays a role, such as solution"},
    {"set", "ROLE:KEY=VALUE", add_variable, "of that role's environment"},
    {"ranks", "ROLE:N", set_rank_count, "ranks of that role's job (1)"},
    {"launch", "ROLE:WORD", add_launch_word,
     "a word for mpiexec, such as -bind-to, and another for core"},
    {"synchronous-sends", NULL, set_synchronous_sends,
     "check: every send of a rank waits for its receive"},
    {"cut", "ROLE:SECONDS", set_cut,
     "generation: a repetition that takes longer is the role's last,\n"
     "and counts as having taken that long"},
    {"kits-kernel", "ROLE", set_reference,
     "generation: that role's kernel is the kit's own: its results are\n"
     "spot-checked after each repetition, and not compared in full"},
    {"may-fail", "ROLE", set_may_fail,
     "generation: where that role's process fails, the others go on\n"
     "without it; its time adds no repetitions and takes none away"},
    {"part", "NAME", set_part, "which of the lab's kernels (the first)"},
    {"threads", "N", NULL, "size of the team that the kit asks for (one per core)"},
    {"size", "NAME", set_size, "quick, default or published"},
    {"least-repetitions", "N", NULL, "generation: timed repetitions of each role (3)"},
    {"most-repetitions", "N", NULL,
     "generation: and more of them until they have taken as long as\n"
     "starting all roles did, up to so many (30)"},
    {"repeat-share", "X", NULL, "generation: or X times as long as that (1)"},
    {"budget-s", "SECONDS", NULL,
     "generation: start no further round of repetitions after this,\n"
     "but do one for each role (60)"},
    {"with-one-thread", NULL, set_single_thread,
     "placement: beside the team the same with one thread, in turns"},
    {"memory-policy", "POLICY:NODES", set_memory_policy,
     "placing: the process's own, as numactl sets it: interleave, bind,\n"
     "preferred or local; NODES such as 0-1,3, or all"},
    {"fill-node", NULL, set_fills_node,
     "placing: hand over a matrix of more than a NUMA node's free memory"},
    {"group", "NAME:KEY=VALUE", add_group_setting,
     "cpusets: cpus, mems or partition of the control group job or others"},
    {"one-at-a-time", NULL, set_sequential,
     "generation: one worker after another, not interleaved, each\n"
     "with the least repetitions, whatever they take"},
    {"traced-pages", "N", NULL, "trace, placement: about so many in all (by size)"},
    {"seed", "HEX", set_seed,
     "trace, placement: n and which pages follow from it (drawn);\n"
     "those that are to be put together need the same"},
    {"n", "N", NULL, "trace, placement: the size that an earlier one of them had"},
    {"line-bytes", "N", NULL, "the length of a cache line, for tests (the node's own)"},
    {"order", "NAME", set_order, "trace: natural, ascending or descending"},
    {"touch-map", "METHOD", set_touch_map, "trace: userfaultfd or in_process"},
    {"limit-s", "SECONDS", NULL,
     "CPU time on each of the team's cores that one phase may take,\n"
     "and half of the wall time (10)"},
    {"sandbox", "CONFINE", set_confine,
     "start workers in a sandbox: by bubblewrap, whose command is given"},
    {"sandbox-word", "WORD", add_sandbox_word,
     "word by word, and the kit's own program CONFINE inside it"},
    {"sandbox-user", "UID", set_sandbox_user, "who runs inside it (who runs the monitor)"},
    {"soft-ends", NULL, set_soft_ends,
     "let kernels read a page beyond each array: QEMU's emulation of\n"
     "scalar instructions loads whole vectors"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

static void print_usage(void)
{
    enum { RUN_COLUMNS = 14, OPTION_COLUMNS = 24 };
    fprintf(stderr, "usage: LAB-monitor RUN --worker ROLE=PROGRAM ...\nRUN:\n");
    for (size_t i = 0; i < numalab_run_count; i++)
        fprintf(stderr, "  %-*s%s\n", RUN_COLUMNS, numalab_runs[i].name, numalab_runs[i].observes);
    fprintf(stderr, "options:\n");
    for (size_t i = 0; i < ROWS; i++) {
        int column =
            fprintf(stderr, "  --%s %s", rows[i].name, rows[i].argument ? rows[i].argument : "");
        for (const char *line = rows[i].help; line; line = strchr(line, '\n')) {
            if (*line == '\n') line++;
            const int spaces = column < OPTION_COLUMNS ? OPTION_COLUMNS - column : 1;
            fprintf(stderr, "%*s%.*s\n", spaces, "", (int)strcspn(line, "\n"), line);
            column = 0;
        }
    }
    fprintf(stderr, "Prints one record as JSON (common/schema/) and exits 0; 2 on misuse, 3 when\n"
                    "there is no record. SIGINT and SIGTERM end the run; its record is printed.\n");
}

static const struct numalab_run *misuse(const char *what, const char *value)
{
    fprintf(stderr, "monitor: %s%s%s\n", what, value ? ": " : "", value ? value : "");
    print_usage();
    return NULL;
}

static int read_option_number(struct numalab_run_options *options, const struct number *number,
                              const char *text)
{
    void *field = (char *)options + number->offset;
    uint64_t whole;
    if (number->kind == DECIMAL)
        return numalab_read_decimal(text, number->least, number->most, field);
    const int error =
        numalab_read_whole(text, (uint64_t)number->least, (uint64_t)number->most, &whole);
    if (error == 0) *(size_t *)field = whole;
    return error;
}

static const struct numalab_run *bad_value(const char *option, const char *value)
{
    char what[128];
    const struct number *number = find_number(option);
    if (!number)
        snprintf(what, sizeof what, "bad value of --%s", option);
    else if (number->kind == WHOLE)
        snprintf(what, sizeof what, "--%s takes a whole number from %.0f to %.0f, and not", option,
                 number->least, number->most);
    else
        snprintf(what, sizeof what, "--%s takes a number %s 0 and up to %.0f, and not", option,
                 number->least > 0 ? "above" : "from", number->most);
    return misuse(what, value);
}

/* Of a run and its options what does not go together; NULL where all does. *value may get what
 * that is about. */
static const char *contradiction(const struct numalab_run *run,
                                 const struct numalab_run_options *options, const char **value)
{
    const struct numalab_driver *driver = options->driver;
    if (options->role_count == 0 && run->needs != NUMALAB_NEEDS_NO_ROLE) return "no --worker given";
    if ((options->sandbox.confine != NULL) != (options->sandbox.word_count > 0))
        return "--sandbox and --sandbox-word need each other";
    if (options->role_count > 0 && run->needs == NUMALAB_NEEDS_NO_ROLE) {
        *value = run->name;
        return "no --worker is for this run";
    }
    if (options->role_count > 1 && run->needs != NUMALAB_NEEDS_ROLES) {
        *value = run->name;
        return "only one --worker is for this run";
    }
    if (options->rounds.most < options->rounds.least)
        return "--most-repetitions is below --least-repetitions";
    *value = driver->lab;
    if (run->needs == NUMALAB_NEEDS_PING_PONG && !driver->repetitions)
        return "no ping-pong, so there is no latency";
    if (run->needs == NUMALAB_NEEDS_MPI && !driver->rank_counts) return "a lab without MPI";
    return NULL;
}

const struct numalab_run *numalab_options_parse(struct numalab_run_options *options, int argc,
                                                char **argv)
{
    *options = (struct numalab_run_options){
        .driver = numalab_drivers[0],
        .size = NUMALAB_DEFAULT,
        .rounds = {.least = 3, .most = 30, .share = 1.0, .budget_s = 60.0},
        .limits = {.phase_s = 10.0,
                   .phases = 4,
                   .memory_bytes = (uint64_t)512 << 20,
                   .output_bytes = (uint64_t)16 << 20},
    };
    const struct numalab_run *run = argc > 1 ? numalab_find_run(argv[1]) : NULL;
    if (!run) return misuse("unknown run", argc > 1 ? argv[1] : "none given");

    struct option long_options[ROWS + 1] = {{0}};
    for (size_t i = 0; i < ROWS; i++)
        long_options[i] = (struct option){
            rows[i].name, rows[i].argument ? required_argument : no_argument, NULL, 0};
    optind = 2;
    int row, found;
    while ((found = getopt_long(argc, argv, "", long_options, &row)) != -1) {
        if (found != 0) return misuse("unknown option", NULL);
        const struct number *number = find_number(rows[row].name);
        const int error =
            number ? read_option_number(options, number, optarg) : rows[row].apply(options, optarg);
        if (error < 0) return bad_value(rows[row].name, optarg);
    }
    const char *value = NULL, *wrong = contradiction(run, options, &value);
    if (wrong) return misuse(wrong, value);
    if (options->sandbox.confine) options->limits.sandbox = &options->sandbox;
    return run;
}
