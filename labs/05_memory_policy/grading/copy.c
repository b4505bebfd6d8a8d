/* Lab 05, explored: memcpy between two arrays, each on a NUMA node of its own, by a thread that is
 * bound to a PU.
 *
 *   copy pu=0 source=0 destination=1 bytes=40000000 repetitions=5
 *
 * Exit code 0: the record is on standard output; 1: the copy is wrong; 2: wrong use; 3: no memory;
 * 4: the system refuses something. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_MISMATCH = 1, EXIT_MISUSE = 2, EXIT_MEMORY = 3, EXIT_REFUSED = 4 };
enum { PREFERRED = 1, MASK_LONGS = 16, MOST_REPETITIONS = 64, PAGES_PER_CALL = 512 };

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* On small pages of a NUMA node, as long as it has some. NULL without memory. */
static char *make_array(size_t bytes, int node)
{
    unsigned long mask[MASK_LONGS] = {0};
    const int bits = 8 * sizeof *mask;
    char *array = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (array == MAP_FAILED) return NULL;
    mask[node / bits] = 1ul << node % bits;
    madvise(array, bytes, MADV_NOHUGEPAGE);
    /* Where that is refused the share of pages tells. */
    syscall(SYS_mbind, array, bytes, PREFERRED, mask, 8 * sizeof mask + 1, 0);
    memset(array, node + 1, bytes);
    return array;
}

/* Of the array's pages those on the node; -1 where the system does not tell. */
static double share_on(const char *array, size_t bytes, int node)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t pages = 0, there = 0;
    for (size_t at = 0; at < bytes;) {
        const void *address[PAGES_PER_CALL];
        int status[PAGES_PER_CALL];
        size_t count = 0;
        for (; count < PAGES_PER_CALL && at < bytes; at += page) address[count++] = array + at;
        if (syscall(SYS_move_pages, 0, count, address, NULL, status, 0) < 0) return -1;
        for (size_t i = 0; i < count; i++) there += status[i] == node;
        pages += count;
    }
    return (double)there / (double)pages;
}

static void print_share(const char *name, double share)
{
    if (share < 0)
        printf("\"%s\": null, ", name);
    else
        printf("\"%s\": %.6f, ", name, share);
}

int main(int argc, char **argv)
{
    int pu = -1, source = -1, destination = -1;
    size_t bytes = 0;
    unsigned repetitions = 0;
    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "pu=%d", &pu) != 1 && sscanf(argv[i], "source=%d", &source) != 1 &&
            sscanf(argv[i], "destination=%d", &destination) != 1 &&
            sscanf(argv[i], "bytes=%zu", &bytes) != 1 &&
            sscanf(argv[i], "repetitions=%u", &repetitions) != 1)
            bytes = 0;
    const int most = MASK_LONGS * 8 * (int)sizeof(unsigned long);
    if (pu < 0 || pu >= CPU_SETSIZE || source < 0 || source >= most || destination < 0 ||
        destination >= most || bytes == 0 || !repetitions || repetitions > MOST_REPETITIONS) {
        fprintf(stderr, "usage: copy pu=N source=NODE destination=NODE bytes=N repetitions=N\n");
        return EXIT_MISUSE;
    }
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pu, &set);
    if (sched_setaffinity(0, sizeof set, &set) < 0) {
        fprintf(stderr, "PU %d: %s\n", pu, strerror(errno));
        return EXIT_REFUSED;
    }
    char *const from = make_array(bytes, source), *const to = make_array(bytes, destination);
    if (!from || !to) return EXIT_MEMORY;
    printf("{\"source\": %d, \"destination\": %d, \"bytes\": %zu, ", source, destination, bytes);
    print_share("source_share", share_on(from, bytes, source));
    print_share("destination_share", share_on(to, bytes, destination));
    printf("\"elapsed_s\": [");
    for (unsigned i = 0; i < repetitions; i++) {
        from[i] = (char)i; /* so that no copy is the one before */
        const double begin_s = now_s();
        memcpy(to, from, bytes);
        printf("%s%.9f", i ? ", " : "", now_s() - begin_s);
    }
    printf("]}\n");
    return memcmp(to, from, bytes) == 0 ? EXIT_SUCCESS : EXIT_MISMATCH;
}
