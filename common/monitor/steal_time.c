#define _GNU_SOURCE
#include "steal_time.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The seconds of a line such as "cpu1 14 0 6 2504 18 0 3 7 0 0": what follows the name is user,
 * nice, system, idle, iowait, irq, softirq, steal, in ticks; see proc(5). Returns whether it is
 * one of a PU. */
static int read_line(const char *line, size_t *pu, double *steal_s)
{
    uintmax_t ticks = 0;
    const int read = sscanf(line, "cpu%zu %*u %*u %*u %*u %*u %*u %*u %ju", pu, &ticks);
    *steal_s = (double)ticks / (double)sysconf(_SC_CLK_TCK);
    return read >= 1 && line[3] >= '0' && line[3] <= '9';
}

static int grow(struct numalab_steal_times *steal, size_t count)
{
    double *pu_s = realloc(steal->pu_s, count * sizeof *pu_s);
    if (!pu_s) return -ENOMEM;
    for (size_t i = steal->count; i < count; i++) pu_s[i] = 0.0;
    *steal = (struct numalab_steal_times){pu_s, count};
    return 0;
}

int numalab_steal_times_read(const char *stat, struct numalab_steal_times *steal)
{
    *steal = (struct numalab_steal_times){0};
    FILE *file = fopen(stat, "re");
    if (!file) return -errno;
    char *line = NULL;
    size_t room = 0, pu;
    int error = 0;
    /* The PUs' lines come first; what follows may be long. */
    while (!error && getline(&line, &room, file) > 0 && line[0] == 'c' && line[1] == 'p') {
        double steal_s;
        if (!read_line(line, &pu, &steal_s)) continue; /* of all together */
        if (pu >= steal->count) error = grow(steal, pu + 1);
        if (!error) steal->pu_s[pu] = steal_s;
    }
    free(line);
    fclose(file);
    if (error) numalab_steal_times_free(steal);
    return error;
}

void numalab_steal_times_free(struct numalab_steal_times *steal)
{
    free(steal->pu_s);
    *steal = (struct numalab_steal_times){0};
}

double numalab_steal_times_max_s(const struct numalab_steal_times *first,
                                 const struct numalab_steal_times *second, hwloc_const_bitmap_t pus)
{
    double most_s = 0.0;
    for (size_t pu = 0; pu < first->count && pu < second->count; pu++) {
        const double found_s = second->pu_s[pu] - first->pu_s[pu];
        if (hwloc_bitmap_isset(pus, (unsigned)pu) && found_s > most_s) most_s = found_s;
    }
    return most_s;
}
