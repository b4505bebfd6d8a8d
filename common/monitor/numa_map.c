#define _GNU_SOURCE
#include "numa_map.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than Linux knows: 8192 at most. */
enum { MOST_PUS = 16384 };

static const char nodes_folder[] = "/sys/devices/system/node";

/* Gives the PUs from first to last to a NUMA node. */
static int give(struct numalab_numa_map *map, size_t first, size_t last, int number)
{
    if (last >= map->pus) {
        int *grown = realloc(map->node_of_pu, (last + 1) * sizeof *grown);
        if (!grown) return -ENOMEM;
        for (size_t pu = map->pus; pu <= last; pu++) grown[pu] = -1;
        map->node_of_pu = grown;
        map->pus = last + 1;
    }
    for (size_t pu = first; pu <= last; pu++) map->node_of_pu[pu] = number;
    return 0;
}

/* Reads a list such as "0-1,4-5"; an empty one is that of a NUMA node of memory only. */
static int read_list(struct numalab_numa_map *map, FILE *file, int number)
{
    unsigned long first, last;
    while (fscanf(file, "%lu", &first) == 1) {
        int next = fgetc(file);
        last = first;
        if (next == '-') {
            if (fscanf(file, "%lu", &last) != 1) return 0;
            next = fgetc(file);
        }
        if (first > last || last >= MOST_PUS) return 0;
        const int error = give(map, first, last, number);
        if (error < 0 || next != ',') return error;
    }
    return 0;
}

static int compare_numbers(const void *first, const void *second)
{
    return *(const int *)first - *(const int *)second;
}

static int add_number(struct numalab_numa_map *map, int number)
{
    int *grown = realloc(map->numbers, (map->nodes + 1) * sizeof *grown);
    if (!grown) return -ENOMEM;
    map->numbers = grown;
    map->numbers[map->nodes++] = number;
    return 0;
}

/* Reads a NUMA node's row of the SLIT. Returns whether it is whole. */
static bool read_row(const char *path, int *row, size_t count)
{
    FILE *file = fopen(path, "re");
    if (!file) return false;
    size_t got = 0;
    while (got < count && fscanf(file, "%d", &row[got]) == 1) got++;
    fclose(file);
    return got == count;
}

static int read_distances(struct numalab_numa_map *map, const char *root)
{
    char path[PATH_MAX];
    if (map->nodes == 0) return 0;
    map->distances = calloc(map->nodes * map->nodes, sizeof *map->distances);
    if (!map->distances) return -ENOMEM;
    for (size_t i = 0; i < map->nodes; i++) {
        const int length = snprintf(path, sizeof path, "%s%s/node%d/distance", root, nodes_folder,
                                    map->numbers[i]);
        if (length > 0 && (size_t)length < sizeof path &&
            read_row(path, &map->distances[i * map->nodes], map->nodes))
            continue;
        free(map->distances);
        map->distances = NULL;
        return 0;
    }
    return 0;
}

static size_t index_of(const struct numalab_numa_map *map, int number)
{
    size_t i = 0;
    while (i < map->nodes && map->numbers[i] != number) i++;
    return i;
}

int numalab_numa_map_distance(const struct numalab_numa_map *map, int source, int target)
{
    const size_t i = index_of(map, source), j = index_of(map, target);
    if (!map->distances || i == map->nodes || j == map->nodes) return -1;
    return map->distances[i * map->nodes + j];
}

int numalab_numa_map_read(struct numalab_numa_map *map, const char *root)
{
    char path[PATH_MAX];
    *map = (struct numalab_numa_map){0};
    snprintf(path, sizeof path, "%s%s", root, nodes_folder);
    DIR *folder = opendir(path);
    if (!folder) return 0;
    map->is_hollow = true;
    int error = 0;
    const struct dirent *entry;
    while (error == 0 && (entry = readdir(folder))) {
        if (strncmp(entry->d_name, "node", 4) != 0 || !isdigit((unsigned char)entry->d_name[4]))
            continue;
        map->is_hollow = false;
        const int number = (int)strtol(entry->d_name + 4, NULL, 10);
        error = add_number(map, number);
        if (error < 0) break;
        const int length =
            snprintf(path, sizeof path, "%s%s/%s/cpulist", root, nodes_folder, entry->d_name);
        FILE *file = length > 0 && (size_t)length < sizeof path ? fopen(path, "re") : NULL;
        if (!file) continue;
        error = read_list(map, file, number);
        fclose(file);
    }
    closedir(folder);
    if (map->nodes > 0) qsort(map->numbers, map->nodes, sizeof *map->numbers, compare_numbers);
    if (error == 0) error = read_distances(map, root);
    if (error < 0) numalab_numa_map_free(map);
    return error;
}

void numalab_numa_map_free(struct numalab_numa_map *map)
{
    free(map->node_of_pu);
    free(map->numbers);
    free(map->distances);
    *map = (struct numalab_numa_map){0};
}

int numalab_numa_map_of(const struct numalab_numa_map *map, hwloc_const_bitmap_t pus)
{
    int found = -1;
    for (int pu = hwloc_bitmap_first(pus); pu >= 0; pu = hwloc_bitmap_next(pus, pu)) {
        const int number = (size_t)pu < map->pus ? map->node_of_pu[pu] : -1;
        if (number < 0 || (found >= 0 && number != found)) return -1;
        found = number;
    }
    return found;
}

/* What hwloc reads of a node, without the NUMA nodes; those that are not there point nowhere. */
static const char *const parts[] = {"proc", "sys/fs", "sys/devices/system/cpu",
                                    "sys/devices/virtual"};
/* The folders between, the innermost last. */
static const char *const parents[] = {"sys", "sys/devices", "sys/devices/system"};

enum { PARTS = sizeof parts / sizeof parts[0], PARENTS = sizeof parents / sizeof parents[0] };

static char *joined(const char *folder, const char *part)
{
    char *path;
    return asprintf(&path, "%s/%s", folder, part) < 0 ? NULL : path;
}

static bool make_link(const char *source, const char *target)
{
    return source && target && symlink(target, source) == 0;
}

/* Makes the folders and links. Returns whether all are there. */
static bool fill(const struct numalab_shown_tree *tree, const char *whole)
{
    bool is_whole = true;
    for (size_t i = 0; i < PARENTS; i++) {
        char *path = joined(tree->folder, parents[i]);
        is_whole = path && mkdir(path, 0700) == 0 && is_whole;
        free(path);
    }
    for (size_t i = 0; i < PARTS; i++) {
        char *path = joined(tree->folder, parts[i]), *target = joined(whole, parts[i]);
        is_whole = make_link(path, target) && is_whole;
        free(path);
        free(target);
    }
    return is_whole;
}

void numalab_show_without_numa(struct numalab_shown_tree *tree, const char *root)
{
    const char *temporary = getenv("TMPDIR");
    tree->folder = NULL;
    char *whole = *root ? realpath(root, NULL) : strdup("");
    char *folder = joined(temporary && *temporary ? temporary : "/tmp", "numalab-sys-XXXXXX");
    if (whole && folder && mkdtemp(folder)) {
        tree->folder = folder;
        if (fill(tree, whole))
            setenv("HWLOC_FSROOT", tree->folder, 1);
        else
            numalab_hide_tree(tree);
    } else {
        free(folder);
    }
    free(whole);
}

void numalab_hide_tree(struct numalab_shown_tree *tree)
{
    if (!tree->folder) return;
    unsetenv("HWLOC_FSROOT");
    for (size_t i = 0; i < PARTS; i++) {
        char *path = joined(tree->folder, parts[i]);
        if (path) unlink(path);
        free(path);
    }
    for (size_t i = PARENTS; i-- > 0;) {
        char *path = joined(tree->folder, parents[i]);
        if (path) rmdir(path);
        free(path);
    }
    rmdir(tree->folder);
    free(tree->folder);
    tree->folder = NULL;
}
