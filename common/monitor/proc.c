#define _GNU_SOURCE
#include "proc.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "numbers.h"

enum { PATH_BYTES = 96 };

FILE *numalab_proc_open(pid_t pid, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

FILE *numalab_proc_open_thread(pid_t pid, pid_t thread, const char *name)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", (int)pid, (int)thread, name);
    return fopen(path, "re");
}

pid_t numalab_proc_number(const char *text)
{
    uint64_t number;
    return numalab_read_whole(text, 1, INT_MAX, &number) == 0 ? (pid_t)number : 0;
}

double numalab_proc_cpu_s(pid_t pid)
{
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) < 0) return 0.0;
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool is_among(pid_t pid, const pid_t *known, size_t known_count)
{
    for (size_t i = 0; i < known_count; i++)
        if (known[i] == pid) return true;
    return false;
}

static pid_t unknown_child_of_thread(pid_t pid, pid_t thread, const pid_t *known,
                                     size_t known_count)
{
    FILE *file = numalab_proc_open_thread(pid, thread, "children");
    pid_t found = 0;
    int child;
    while (file && !found && fscanf(file, "%d", &child) == 1)
        if (!is_among((pid_t)child, known, known_count)) found = (pid_t)child;
    if (file) fclose(file);
    return found;
}

pid_t numalab_proc_unknown_child(pid_t pid, const pid_t *known, size_t known_count)
{
    char path[PATH_BYTES];
    pid_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    for (struct dirent *entry; !found && (entry = readdir(folder));) {
        const pid_t thread = numalab_proc_number(entry->d_name);
        if (thread > 0) found = unknown_child_of_thread(pid, thread, known, known_count);
    }
    closedir(folder);
    return found;
}

void numalab_proc_end_children(void)
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

char *numalab_read_first_line(const char *path, char *line, size_t line_bytes)
{
    FILE *file = fopen(path, "re");
    if (!file) return NULL;
    char *got = fgets(line, (int)line_bytes, file);
    fclose(file);
    if (got) line[strcspn(line, "\n")] = '\0';
    return got;
}
