/* What it was started with, and what it could change of the system. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern char **environ;

static void attack(void)
{
    static const char *const switches[] = {
        "/proc/sys/kernel/pid_max", "/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger",
        "/sys/kernel/mm/transparent_hugepage/enabled", "/proc/1/oom_score_adj"};
    for (char **one = environ; *one; one++)
        if (strncmp(*one, "SECRET", 6) == 0 || strncmp(*one, "HOME=", 5) == 0)
            printf("OPEN %s\n", *one);
    for (unsigned i = 0; i < sizeof switches / sizeof switches[0]; i++)
        if (open(switches[i], O_WRONLY) >= 0) printf("OPEN %s\n", switches[i]);
}
