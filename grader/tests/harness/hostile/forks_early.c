/* Before main, where the worker itself could not have refused anything yet. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void early(void)
{
    const pid_t child = fork();
    if (child == 0) _exit(0);
    if (child > 0) {
        puts("OPEN fork");
        fflush(stdout);
    }
}

static void attack(void)
{
}
