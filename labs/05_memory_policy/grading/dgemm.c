/* Lab 05, explored: a matrix product of OpenBLAS, whose matrices one thread has written, under the
 * default policy or interleaved over all NUMA nodes, as numactl --interleave=all has it.
 *
 *   dgemm policy=interleave n=1500 repetitions=3
 *
 * Exit code 0: the record is on standard output; 1: the product is wrong; 2: wrong use; 3: no
 * memory; 4: the system refuses the policy; 5: there is no OpenBLAS. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EXIT_MISMATCH = 1, EXIT_MISUSE = 2, EXIT_MEMORY = 3, EXIT_REFUSED = 4, EXIT_NO_BLAS = 5 };
enum { MOST_REPETITIONS = 64, INTERLEAVE = 3, MASK_LONGS = 16 };

/* Of cblas.h. */
enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111 };
typedef void dgemm_function(int, int, int, int, int, int, double, const double *, int,
                            const double *, int, double, double *, int);
typedef int threads_function(void);

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Bits of the NUMA nodes that have memory: the list that Linux gives, such as 0-1,3. */
static void read_nodes(unsigned long mask[MASK_LONGS])
{
    const unsigned bits = 8 * sizeof *mask;
    char line[256] = "0", *at = line;
    FILE *file = fopen("/sys/devices/system/node/has_memory", "re");
    if (file) {
        if (!fgets(line, sizeof line, file)) line[0] = '\0';
        fclose(file);
    }
    while (*at >= '0' && *at <= '9') {
        unsigned long first = strtoul(at, &at, 10), last = first;
        if (*at == '-') last = strtoul(at + 1, &at, 10);
        for (unsigned long node = first; node <= last && node < MASK_LONGS * bits; node++)
            mask[node / bits] |= 1ul << node % bits;
        if (*at == ',') at++;
    }
}

static int set_policy(const char *name)
{
    unsigned long mask[MASK_LONGS] = {0};
    if (strcmp(name, "default") == 0) return 0;
    if (strcmp(name, "interleave") != 0) return EXIT_MISUSE;
    read_nodes(mask);
    if (syscall(SYS_set_mempolicy, INTERLEAVE, mask, 8 * sizeof mask + 1) == 0) return 0;
    fprintf(stderr, "set_mempolicy: %s\n", strerror(errno));
    return EXIT_REFUSED;
}

/* On small pages, which are interleaved one by one. */
static double *make_matrix(size_t elements, double value)
{
    double *matrix = mmap(NULL, elements * sizeof *matrix, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (matrix == MAP_FAILED) return NULL;
    madvise(matrix, elements * sizeof *matrix, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < elements; i++) matrix[i] = value;
    return matrix;
}

int main(int argc, char **argv)
{
    char policy[16] = "default";
    unsigned n = 1000, repetitions = 3;
    for (int i = 1; i < argc; i++)
        if (sscanf(argv[i], "policy=%15s", policy) != 1 && sscanf(argv[i], "n=%u", &n) != 1 &&
            sscanf(argv[i], "repetitions=%u", &repetitions) != 1)
            n = 0;
    if (n == 0 || n > 32768 || repetitions == 0 || repetitions > MOST_REPETITIONS) {
        fprintf(stderr, "usage: dgemm policy=default|interleave n=ROWS repetitions=TIMES\n");
        return EXIT_MISUSE;
    }
    void *const blas = dlopen("libopenblas.so.0", RTLD_NOW);
    dgemm_function *dgemm = NULL;
    threads_function *threads = NULL;
    if (blas) {
        *(void **)&dgemm = dlsym(blas, "cblas_dgemm");
        *(void **)&threads = dlsym(blas, "openblas_get_num_threads");
    }
    if (!dgemm || !threads) {
        fprintf(stderr, "there is no libopenblas.so.0\n");
        return EXIT_NO_BLAS;
    }
    const int error = set_policy(policy);
    if (error) return error;
    const size_t elements = (size_t)n * n;
    double *const a = make_matrix(elements, 1.0), *const b = make_matrix(elements, 1.0),
                  *const c = make_matrix(elements, 0.0);
    if (!a || !b || !c) return EXIT_MEMORY;
    const int rows = (int)n;
    printf("{\"policy\": \"%s\", \"n\": %u, \"threads\": %d, \"elapsed_s\": [", policy, n,
           threads());
    for (unsigned i = 0; i < repetitions; i++) {
        const double begin_s = now_s();
        dgemm(ROW_MAJOR, NOT_TRANSPOSED, NOT_TRANSPOSED, rows, rows, rows, 1.0, a, rows, b, rows,
              0.0, c, rows);
        printf("%s%.9f", i ? ", " : "", now_s() - begin_s);
    }
    printf("]}\n");
    for (size_t i = 0; i < elements; i++)
        if (c[i] != (double)n) return EXIT_MISMATCH; /* a row of ones times a column of ones */
    return EXIT_SUCCESS;
}
