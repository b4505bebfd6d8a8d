#define _GNU_SOURCE
#include "stolen.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The seconds of a line such as "cpu1 14 0 6 2504 18 0 3 7 0 0": what follows the name is user,
 * nice, system, idle, iowait, irq, softirq, steal, in ticks; see proc(5). Returns whether it is
 * one of a PU. */
static int read_line(const char *line, size_t *pu, double *stolen_s)
{
    uintmax_t ticks = 0;
    const int read = sscanf(line, "cpu%zu %*u %*u %*u %*u %*u %*u %*u %ju", pu, &ticks);
    *stolen_s = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return read >= 1 && line[3] >= '0' && line[3] <= '9';
}

static int grow(struct numalab_stolen *stolen, size_t count)
{
    double *of_pu_s = realloc(stolen->of_pu_s, count * sizeof *of_pu_s);
    if (!of_pu_s) return -ENOMEM;
    for (size_t i = stolen->count; i < count; i++) of_pu_s[i] = 0.0;
    *stolen = (struct numalab_stolen){of_pu_s, count};
    return 0;
}

int numalab_stolen_read(const char *stat, struct numalab_stolen *stolen)
{
    *stolen = (struct numalab_stolen){0};
    FILE *file = fopen(stat, "re");
    if (!file) return -errno;
    char *line = NULL;
    size_t room = 0, pu;
    int error = 0;
    /* The PUs' lines come first; what follows may be long. */
    while (!error && getline(&line, &room, file) > 0 && line[0] == 'c' && line[1] == 'p') {
        double stolen_s;
        if (!read_line(line, &pu, &stolen_s)) continue; /* of all together */
        if (pu >= stolen->count) error = grow(stolen, pu + 1);
        if (!error) stolen->of_pu_s[pu] = stolen_s;
    }
    free(line);
    fclose(file);
    if (error) numalab_stolen_free(stolen);
    return error;
}

void numalab_stolen_free(struct numalab_stolen *stolen)
{
    free(stolen->of_pu_s);
    *stolen = (struct numalab_stolen){0};
}

double numalab_stolen_most_s(const struct numalab_stolen *before,
                             const struct numalab_stolen *after, hwloc_const_bitmap_t pus)
{
    double most_s = 0.0;
    for (size_t pu = 0; pu < before->count && pu < after->count; pu++) {
        const double found_s = after->of_pu_s[pu] - before->of_pu_s[pu];
        if (hwloc_bitmap_isset(pus, (unsigned)pu) && found_s > most_s) most_s = found_s;
    }
    return most_s;
}
