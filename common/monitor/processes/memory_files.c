#define _GNU_SOURCE
#include "memory_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <mntent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As in linux/landlock.h, which older systems have not; the numbers are those of all
 * architectures. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446, PATH_BENEATH = 1 };
static const uint64_t write_file = 1 << 1;

struct path_beneath {
    uint64_t allowed;
    int32_t parent;
} __attribute__((packed));

/* Where /proc is mounted; there may be more than one. */
enum { MOST_PLACES = 64 };
struct places {
    size_t count;
    char path[MOST_PLACES][256];
};

static bool read_places(struct places *places)
{
    struct mntent entry;
    char line[4096];
    FILE *mounts = setmntent("/proc/self/mounts", "re");
    if (!mounts) return false;
    places->count = 0;
    while (places->count < MOST_PLACES && getmntent_r(mounts, &entry, line, sizeof line))
        if (strcmp(entry.mnt_type, "proc") == 0 && strlen(entry.mnt_dir) < sizeof places->path[0])
            strcpy(places->path[places->count++], entry.mnt_dir);
    endmntent(mounts);
    return places->count > 0;
}

static bool is_place(const struct places *places, const char *path)
{
    for (size_t i = 0; i < places->count; i++)
        if (strcmp(places->path[i], path) == 0) return true;
    return false;
}

static bool holds_place(const struct places *places, const char *path)
{
    const size_t length = strlen(path);
    for (size_t i = 0; i < places->count; i++)
        if (strncmp(places->path[i], path, length) == 0 && places->path[i][length] == '/')
            return true;
    return false;
}

static void allow(int rules, const char *path)
{
    const struct path_beneath rule = {write_file, open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC)};
    if (rule.parent < 0) return;
    syscall(ADD_RULE, rules, PATH_BENEATH, &rule, 0);
    close(rule.parent);
}

/* What is in a folder, but for the places; folder: "" for the root, so no path ends with a slash.
 */
static void allow_all_in(int rules, const struct places *places, const char *folder)
{
    DIR *entries = opendir(*folder ? folder : "/");
    if (!entries) return;
    for (const struct dirent *entry; (entry = readdir(entries));) {
        char path[PATH_MAX];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length < 0 || length >= (int)sizeof path || is_place(places, path)) continue;
        if (holds_place(places, path))
            allow_all_in(rules, places, path); /* as deep as it lies */
        else
            allow(rules, path);
    }
    closedir(entries);
}

int numalab_memory_files_rules(void)
{
    struct places places;
    if (!read_places(&places)) return -1;
    const int rules = (int)syscall(CREATE_RULESET, &write_file, sizeof write_file, 0);
    if (rules >= 0) allow_all_in(rules, &places, "");
    return rules;
}

void numalab_refuse_memory_files(int rules)
{
    if (rules >= 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0) syscall(RESTRICT_SELF, rules, 0);
}
