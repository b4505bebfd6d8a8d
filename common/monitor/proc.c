#include "proc.h"

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
