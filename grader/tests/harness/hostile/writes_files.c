/* PLACES: where a next student's grading would look. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void attack(void)
{
    static const char *const places[] = {PLACES};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++)
        if (open(places[i], O_WRONLY | O_CREAT | O_APPEND, 0666) >= 0 &&
            strncmp(places[i], "/tmp/", 5) != 0) /* its own, and gone with it */
            printf("OPEN %s\n", places[i]);
}
