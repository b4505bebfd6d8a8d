#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char block[1 << 20];

static long fill(const char *path, long most_mib)
{
    long mib = 0;
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    while (file >= 0 && mib < most_mib && write(file, block, sizeof block) > 0) mib++;
    return mib;
}

static void attack(void)
{
    memset(block, 1, sizeof block);
    static const char *const closed[] = {"/var/tmp/numalab-filler", "/numalab-filler",
                                         "/dev/numalab-filler", "/run/numalab-filler"};
    for (unsigned i = 0; i < sizeof closed / sizeof closed[0]; i++)
        if (fill(closed[i], 4) > 0) printf("OPEN %s\n", closed[i]);
    if (fill("numalab-filler", 64) + fill("/tmp/numalab-filler", 64) >= 64) puts("OPEN /tmp");
    /* As many files as it takes, each smaller than a file may be. */
    long mib = 0;
    for (int i = 0; i < 20; i++) {
        char path[64];
        snprintf(path, sizeof path, "/dev/shm/numalab-filler-%d", i);
        mib += fill(path, 50);
    }
    if (mib >= 1000) puts("OPEN /dev/shm");
}
