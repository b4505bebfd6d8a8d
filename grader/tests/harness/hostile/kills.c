/* VICTIM: a process of the same user. Of its own parents it tries the nearest only. */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void)
{
    if (kill(VICTIM, SIGKILL) == 0) puts("OPEN kill");
    if (getppid() < 1000) kill(getppid(), SIGTERM); /* small numbers: a sandbox's */
    kill(1, 0);
}
