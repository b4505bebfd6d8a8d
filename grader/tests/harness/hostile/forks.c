/* The first wave of a fork bomb. */
#include <stdio.h>
#include <unistd.h>

static void attack(void)
{
    for (int i = 0; i < 20; i++) {
        const pid_t child = fork();
        if (child == 0) {
            sleep(2);
            _exit(0);
        }
        if (child > 0) puts("OPEN fork");
    }
}
