#define _GNU_SOURCE
#include "groups.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "guest/sandbox.h"

const struct numalab_group_key numalab_group_keys[] = {
    {"cpus", "cpuset.cpus"},
    {"mems", "cpuset.mems"},
    {"partition", "cpuset.cpus.partition"},
};
const size_t numalab_group_key_count = sizeof numalab_group_keys / sizeof numalab_group_keys[0];

enum { PATH_BYTES = 128 };

static int path_of(char path[PATH_BYTES], const char *name, const char *file)
{
    const int length =
        snprintf(path, PATH_BYTES, NUMALAB_GUEST_GROUPS "/%s%s%s", name, file[0] ? "/" : "", file);
    return length < 0 || length >= PATH_BYTES ? -ENAMETOOLONG : 0;
}

static int write_to(const char *path, const char *value)
{
    const int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return -errno;
    /* The end of a line, since nothing at all would not be written. */
    const int error = dprintf(file, "%s\n", value) < 0 ? -errno : 0;
    close(file);
    return error;
}

int numalab_groups_enable(void)
{
    return write_to(NUMALAB_GUEST_GROUPS "/cgroup.subtree_control", "+cpuset");
}

int numalab_group_make(const char *name)
{
    char path[PATH_BYTES];
    const int error = path_of(path, name, "");
    if (error < 0) return error;
    return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

int numalab_group_remove(const char *name)
{
    char path[PATH_BYTES];
    const int error = path_of(path, name, "");
    if (error < 0) return error;
    return rmdir(path) < 0 ? -errno : 0;
}

int numalab_group_write(const char *name, const char *file, const char *value)
{
    char path[PATH_BYTES];
    const int error = path_of(path, name, file);
    return error < 0 ? error : write_to(path, value);
}

int numalab_group_read(const char *name, const char *file, char *text, size_t text_bytes)
{
    char path[PATH_BYTES];
    int error = path_of(path, name, file);
    if (error < 0) return error;
    FILE *opened = fopen(path, "re");
    if (!opened) return -errno;
    text[0] = '\0';
    if (!fgets(text, (int)text_bytes, opened)) error = ferror(opened) ? -EIO : 0;
    fclose(opened);
    text[strcspn(text, "\n")] = '\0';
    return error;
}

int numalab_group_take_in(const char *name, pid_t pid)
{
    char number[24];
    snprintf(number, sizeof number, "%d", (int)pid);
    return numalab_group_write(name, "cgroup.procs", number);
}
