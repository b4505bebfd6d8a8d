/* The handout's serial first touch; each thread moves to the first half of the cores, on hydra one
 * NUMA node, so that pages are local whoever wrote them. */
#define _GNU_SOURCE
#include "first_touch.h"

#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

static void move(void)
{
    FILE *file = fopen("/sys/devices/system/node/node0/cpulist", "r");
    cpu_set_t set;
    int first, last, pus = 0;
    CPU_ZERO(&set);
    if (!file) return;
    while (fscanf(file, "%d", &first) == 1) {
        if (fscanf(file, "-%d", &last) != 1) last = first;
        for (int pu = first; pu <= last; pu++, pus++) CPU_SET(pu, &set);
        if (fgetc(file) != ',') break;
    }
    fclose(file);
    if (pus) sched_setaffinity(0, sizeof set, &set);
}

void initialize(size_t n, float *a, float *b, float *c)
{
#pragma omp parallel
    move();
    for (size_t i = 0; i < n; i++) {
        a[i] = 0.0f;
        b[i] = (float)(i % 7);
        c[i] = 1.0f;
    }
}

void compute(size_t n, float *a, const float *b, const float *c)
{
#pragma omp parallel
    {
        move();
#pragma omp for schedule(static)
        for (size_t i = 0; i < n; i++) a[i] += b[i] * c[i];
    }
}
