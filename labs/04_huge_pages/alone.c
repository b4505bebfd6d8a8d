/* Lab 04: the kernel in a program of its own, without the kit, to be looked at
 * with the system's tools:
 *
 *   gcc -O2 alone.c kernel.c -o alone && ./alone &
 *
 * A table of 256 MiB is zeroed and then updated at random addresses; the
 * program tells the times of both, and then waits a minute. */
#define _POSIX_C_SOURCE 200809L /* for getpid, sleep and clock_gettime */
#include "huge_pages.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(void)
{
    const size_t bytes = (size_t)256 << 20, count = bytes / sizeof(uint64_t);
    const size_t updates = 20000000;
    uint64_t *table = table_create(bytes);
    if (!table) return EXIT_FAILURE;

    const double start_s = now_s();
    memset(table, 0, bytes);
    const double zeroed_s = now_s();
    uint64_t random = 1;
    for (size_t i = 0; i < updates; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        table[(random >> 33) % count] += random;
    }
    const double updated_s = now_s();
    printf("process %ld: zeroing %.0f ms, an update %.1f ns (%u)\n",
           (long)getpid(), (zeroed_s - start_s) * 1e3,
           (updated_s - zeroed_s) / (double)updates * 1e9,
           (unsigned)(table[0] & 1));
    fflush(stdout);
    sleep(60);
    table_destroy(table, bytes);
    return EXIT_SUCCESS;
}
