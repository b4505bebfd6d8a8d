/* Lab 05, explored: one thread writes an array, and a thread on another NUMA node uses half of it.
 * Where its pages are is noted from time to time, with automatic NUMA balancing or without.
 *
 *   balancing on seconds=8 bytes=50331648 scan_min_ms=100 scan_max_ms=200 scan_delay_ms=100
 *
 * To turn balancing on or off takes root: it is for virtual nodes. Exit code 0: the record is on
 * standard output; 2: wrong use; 3: no memory; 4: the system refuses something. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_MISUSE = 2, EXIT_MEMORY = 3, EXIT_REFUSED = 4 };
enum { USERS = 2, POLL_MS = 250, PAGE_BYTES = 4096, MOST_NODES = 1024 };

static const char folder[] = "/sys/kernel/debug/sched/numa_balancing";

static struct {
    bool is_on;
    double seconds;
    size_t bytes;
    int scan_ms[3]; /* shortest and longest period, and before the first one */
} options = {true, 8.0, (size_t)48 << 20, {0}};
static const char *const periods[] = {"scan_min_ms", "scan_max_ms", "scan_delay_ms"};
static const char *const files[] = {"scan_period_min_ms", "scan_period_max_ms", "scan_delay_ms"};

static char *array;
static atomic_bool is_over;
static struct user {
    pthread_t thread;
    int number, pu, node;
} user[USERS];

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int refuse(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    return EXIT_REFUSED;
}

/* ---- the system -------------------------------------------------------------------------- */

static bool write_number(const char *path, int number)
{
    FILE *file = fopen(path, "we");
    if (!file) return false;
    const bool is_written = fprintf(file, "%d\n", number) > 0;
    return fclose(file) == 0 && is_written;
}

static int read_number(const char *path)
{
    int number = -1;
    FILE *file = fopen(path, "re");
    if (!file) return -1;
    if (fscanf(file, "%d", &number) != 1) number = -1;
    fclose(file);
    return number;
}

/* Sets the scan periods, and tells which hold; then turns balancing on or off. */
static int set_balancing(int periods_ms[3])
{
    char path[128];
    if (read_number("/sys/kernel/debug/sched/numa_balancing/scan_delay_ms") < 0)
        mount("none", "/sys/kernel/debug", "debugfs", 0, NULL);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        if (options.scan_ms[i] > 0 && !write_number(path, options.scan_ms[i])) return refuse(path);
        periods_ms[i] = read_number(path);
    }
    if (!write_number("/proc/sys/kernel/numa_balancing", options.is_on))
        return refuse("/proc/sys/kernel/numa_balancing");
    return 0;
}

/* The first PU of each of the first two NUMA nodes that have any. */
static bool find_places(void)
{
    int found = 0;
    for (int node = 0; node < MOST_NODES && found < USERS; node++) {
        char path[96];
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
        const int pu = read_number(path);
        if (pu >= 0) user[found++] = (struct user){.pu = pu, .node = node};
    }
    for (int i = 0; i < found; i++) user[i].number = i;
    return found == USERS;
}

static bool bind_to(int pu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(pu, &set);
    return sched_setaffinity(0, sizeof set, &set) == 0;
}

/* ---- the program that is healed ------------------------------------------------------------ */

/* Each its half, again and again. */
static void *use(void *argument)
{
    const struct user *own = argument;
    volatile char sum = 0;
    if (!bind_to(own->pu)) return NULL;
    const size_t first = options.bytes / USERS * (size_t)own->number;
    while (!is_over)
        for (size_t i = 0; i < options.bytes / USERS && !is_over; i += PAGE_BYTES)
            sum = (char)(sum + array[first + i]);
    return NULL;
}

/* Pages of the array on a NUMA node, by numa_maps: move_pages would not find those that balancing
 * has taken away to see who comes for them. */
static long pages_on(int node)
{
    char *line = NULL, word[24];
    size_t room = 0;
    long pages = 0;
    FILE *file = fopen("/proc/self/numa_maps", "re");
    snprintf(word, sizeof word, " N%d=", node);
    while (file && getline(&line, &room, file) > 0) {
        const char *at = strstr(line, word);
        if (strtoul(line, NULL, 16) == (unsigned long)array && at) pages = atol(at + strlen(word));
    }
    free(line);
    if (file) fclose(file);
    return pages;
}

static bool read_words(int argc, char **argv)
{
    if (argc < 2 || (strcmp(argv[1], "on") != 0 && strcmp(argv[1], "off") != 0)) return false;
    options.is_on = strcmp(argv[1], "on") == 0;
    for (int i = 2; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value) return false;
        *value++ = '\0';
        if (strcmp(argv[i], "seconds") == 0)
            options.seconds = atof(value);
        else if (strcmp(argv[i], "bytes") == 0)
            options.bytes = strtoul(value, NULL, 10);
        else {
            int k = 0;
            while (k < 3 && strcmp(argv[i], periods[k]) != 0) k++;
            if (k == 3) return false;
            options.scan_ms[k] = atoi(value);
        }
    }
    return options.seconds > 0 && options.bytes >= USERS * PAGE_BYTES;
}

int main(int argc, char **argv)
{
    int scan_ms[3];
    if (!read_words(argc, argv)) {
        fprintf(stderr, "usage: balancing on|off seconds=S bytes=N scan_min_ms=N ...\n");
        return EXIT_MISUSE;
    }
    if (!find_places()) {
        fprintf(stderr, "there are no two NUMA nodes with processors\n");
        return EXIT_REFUSED;
    }
    const int error = set_balancing(scan_ms);
    if (error) return error;
    array = mmap(NULL, options.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (array == MAP_FAILED) return EXIT_MEMORY;
    madvise(array, options.bytes, MADV_NOHUGEPAGE);
    if (!bind_to(user[0].pu)) return refuse("sched_setaffinity");
    memset(array, 1, options.bytes);
    printf("{\"is_on\": %s, \"nodes\": [%d, %d], \"pages\": %zu, \"scan_min_ms\": %d, "
           "\"scan_max_ms\": %d, \"scan_delay_ms\": %d, \"samples\": [",
           options.is_on ? "true" : "false", user[0].node, user[1].node, options.bytes / PAGE_BYTES,
           scan_ms[0], scan_ms[1], scan_ms[2]);
    for (int i = 0; i < USERS; i++)
        if (pthread_create(&user[i].thread, NULL, use, &user[i]) != 0) return refuse("a thread");
    const double begin_s = now_s();
    for (const char *comma = "";; comma = ", ") {
        const double at_s = now_s() - begin_s;
        printf("%s[%.3f, %ld, %ld]", comma, at_s, pages_on(user[0].node), pages_on(user[1].node));
        if (at_s >= options.seconds) break;
        usleep(POLL_MS * 1000);
    }
    printf("]}\n");
    is_over = true;
    for (int i = 0; i < USERS; i++) pthread_join(user[i].thread, NULL);
    if (options.is_on) write_number("/proc/sys/kernel/numa_balancing", 0);
    return EXIT_SUCCESS;
}
