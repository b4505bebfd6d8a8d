#include "sandbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Runtimes start a few threads of their own beside a team. */
enum { OWN_THREADS = 8, OWN_PROCESSES = 64 };

/* As much time as a core gives each thread in so many phases that are stopped at their limit:
 * none comes near it unless the monitor is gone. */
enum { PHASES = 100 };

/* What bubblewrap and confine are told beside the sandbox's own words and the command. */
enum { OWN_WORDS = 24 };

size_t numalab_sandbox_most_threads(const struct numalab_limits *limits, size_t rank_count)
{
    const size_t ranks = rank_count ? rank_count : 1;
    return 2 * ranks * (limits->thread_count + OWN_THREADS) + OWN_PROCESSES;
}

static size_t most_cpu_s(const struct numalab_limits *limits)
{
    return (size_t)(PHASES * (limits->phase_s + 1.0)) * (limits->thread_count + OWN_THREADS);
}

/* The beginning of confine's command line; returns how many words there are now. */
static size_t add_confine(const char **words, size_t count, const struct numalab_sandbox *sandbox,
                          const char *role, const char *processes, const char *cpu_s)
{
    const char *const own[] = {sandbox->confine, role, processes, cpu_s};
    memcpy(words + count, own, sizeof own);
    return count + sizeof own / sizeof own[0];
}

const char **numalab_sandbox_command(const struct numalab_limits *limits,
                                     const char *const *command, size_t rank_count,
                                     const char *listener_path)
{
    enum { NUMBER_BYTES = 24 };
    const struct numalab_sandbox *sandbox = limits->sandbox;
    size_t given = 0, count = 0;
    while (command[given]) given++;
    const size_t most_words = sandbox->word_count + given + OWN_WORDS + 1;
    const char **words = calloc(1, most_words * sizeof *words + 2 * NUMBER_BYTES);
    if (!words || given == 0) {
        free(words);
        return NULL;
    }
    char *processes = (char *)(words + most_words), *cpu_s = processes + NUMBER_BYTES;
    snprintf(processes, NUMBER_BYTES, "%zu", numalab_sandbox_most_threads(limits, rank_count));
    snprintf(cpu_s, NUMBER_BYTES, "%zu", most_cpu_s(limits));

    const char *program = command[given - 1];
    memcpy(words, sandbox->word, sandbox->word_count * sizeof *words);
    count = sandbox->word_count;
    const char *const seen[] = {sandbox->confine, program, listener_path};
    for (size_t i = 0; i < sizeof seen / sizeof seen[0]; i++)
        if (seen[i]) {
            words[count++] = "--ro-bind";
            words[count++] = seen[i];
            words[count++] = seen[i];
        }
    /* Last: until here places are made in it for what is seen. */
    words[count++] = "--remount-ro";
    words[count++] = "/";
    words[count++] = "--";
    if (rank_count) count = add_confine(words, count, sandbox, "launcher", processes, cpu_s);
    memcpy(words + count, command, (given - 1) * sizeof *words);
    count += given - 1;
    const char *worker = limits->notes_stores ? "watched" : "worker";
    count = add_confine(words, count, sandbox, rank_count ? "rank" : worker, processes, cpu_s);
    words[count++] = program;
    return words;
}

uid_t numalab_sandbox_user(const struct numalab_sandbox *sandbox)
{
    return sandbox && sandbox->has_user ? sandbox->user : getuid();
}

bool numalab_sandbox_needs(const char *variable)
{
    /* OpenMP's, MPI's and the kit's own; PATH and the library path, by which a site's modules
     * are found. */
    static const char *const beginnings[] = {
        "OMP_",   "KMP_",  "GOMP_",    "GFORTRAN_",        "TSAN_OPTIONS=", "NUMALAB_",
        "MPICH_", "MPIR_", "MPIEXEC_", "HYDRA_",           "HWLOC_",        "PMI",
        "UCX_",   "FI_",   "PATH=",    "LD_LIBRARY_PATH=", "LANG=",         "LC_ALL="};
    /* They tell a learner of places outside. */
    static const char *const left_out[] = {"NUMALAB_ROOT=", "NUMALAB_BUILD=", "NUMALAB_NOTEBOOKS="};
    for (size_t i = 0; i < sizeof left_out / sizeof left_out[0]; i++)
        if (strncmp(variable, left_out[i], strlen(left_out[i])) == 0) return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
        if (strncmp(variable, beginnings[i], strlen(beginnings[i])) == 0) return true;
    return false;
}
