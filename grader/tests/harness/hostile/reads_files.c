/* PLACES: files and folders of other people. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void attack(void)
{
    static const char *const places[] = {PLACES};
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        if (open(places[i], O_RDONLY) >= 0) printf("OPEN %s\n", places[i]);
        DIR *folder = opendir(places[i]);
        if (folder && readdir(folder)) printf("OPEN %s\n", places[i]);
    }
}
