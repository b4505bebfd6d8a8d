/* The probe's command line:
 *
 *   probe describe
 *   probe update,chase pages=small bytes=67108864 steps=4096 repetitions=5 seed=1
 *   probe copy,triad   pages=small bytes=134217728 first_touch=all repetitions=10
 *   probe mixes loops=2+1+0,0+0+1 bytes=67108864 repetitions=5          (mixes.h)
 *   probe chase lines=all pus=3 memory_node=1 bytes=67108864
 *
 * Kernels of one call share their memory: those of tables (update, chase) one table, in this order,
 * those of streams (copy, triad, load, store) three arrays of so many bytes each. Exit code 0: the
 * record is on standard output; 1: a kernel's results are wrong; 2: wrong use; 3: no memory; 4: the
 * system refuses something. */
#define _GNU_SOURCE
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"
#include "mixes.h"
#include "numbers.h"
#include "places.h"
#include "streams.h"
#include "tables.h"
#include "tlb_registers.h"

enum { EXIT_MISMATCH = 1, EXIT_MISUSE = 2, EXIT_MEMORY = 3, EXIT_REFUSED = 4 };
enum { SMALLEST_TABLE_PAGES = 4, MOST_PU = 8191, MOST_NODE = 1023, SMALLEST_LINK_BYTES = 64 };

/* ---- the kernels -------------------------------------------------------------------- */

/* One of the two is set. In the order in which they run. */
static const struct kernel {
    const char *name;
    int (*run_table)(const struct probe_memory *, const struct probe_task *, struct probe_times *);
    probe_stream *run_arrays;
} kernels[] = {
    {"update", probe_update, NULL}, {"chase", probe_chase, NULL}, {"copy", NULL, probe_copy},
    {"triad", NULL, probe_triad},   {"load", NULL, probe_load},   {"store", NULL, probe_store},
};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* What is asked for. is_chosen: of the kernels; names: as they were written. */
struct request {
    const char *names;
    bool is_chosen[KERNELS], is_of_table;
    struct probe_task task;
};

/* ---- records ------------------------------------------------------------------------ */

static void print_times(const struct request *request, const struct probe_times *times)
{
    const char *comma = "";
    printf("\"times\": [");
    for (size_t k = 0; k < KERNELS; k++) {
        if (!request->is_chosen[k]) continue;
        printf("%s{\"kernel\": \"%s\", ", comma, kernels[k].name);
        if (request->is_of_table)
            printf("\"steps\": %zu, ", times[k].steps);
        else
            printf("\"bytes_moved\": %zu, \"bytes_allocated\": %zu, ", times[k].bytes_moved,
                   times[k].bytes_allocated);
        printf("\"elapsed_s\": [");
        for (size_t i = 0; i < request->task.repetitions; i++)
            printf("%s%.9f", i ? ", " : "", times[k].elapsed_s[i]);
        printf("]}");
        comma = ", ";
    }
    printf("]}\n");
}

/* Where the memory was to live, and what share of it does. */
static void print_memory_node(int numa_node, double share)
{
    if (numa_node == PROBE_ANY_NODE)
        printf("\"memory_node\": null, ");
    else
        printf("\"memory_node\": %d, ", numa_node);
    if (isnan(share))
        printf("\"memory_node_share\": null, ");
    else
        printf("\"memory_node_share\": %.6f, ", share);
}

static int refuse(const char *what, int error)
{
    if (error == -EBADMSG) return EXIT_MISMATCH; /* said already */
    fprintf(stderr, "%s: %s\n", what, strerror(-error));
    return error == -ENOMEM ? EXIT_MEMORY : EXIT_REFUSED;
}

static int measure_table(const struct request *request)
{
    const struct probe_task *task = &request->task;
    struct probe_memory table = {0};
    struct probe_first_touch touched = {0};
    struct probe_times times[KERNELS] = {0};
    size_t huge_bytes = 0;
    double share = NAN;
    int error = probe_bind_thread(task);
    if (error) return refuse("the PU", error);
    error = probe_memory_map(&table, task->bytes, task->is_huge);
    if (!error) error = probe_prefer_node(&table, task->memory_node);
    if (!error) error = probe_first_touch(&table, task, &touched);
    for (size_t k = 0; k < KERNELS && !error; k++)
        if (request->is_chosen[k]) error = kernels[k].run_table(&table, task, &times[k]);
    if (!error) error = probe_memory_on_huge_pages(&table, &huge_bytes);
    if (!error) share = probe_share_on_node(&table, 1, task->memory_node);
    const int pu = sched_getcpu();
    probe_memory_unmap(&table);
    if (error) return refuse("the table", error);
    printf("{\"kernels\": \"%s\", \"pages\": \"%s\", \"bytes\": %zu, \"bytes_on_huge_pages\": %zu, "
           "\"seed\": %llu, \"first_touch_cpu_s\": %.9f, \"page_faults\": %llu, "
           "\"lines\": \"%s\", \"thread_pus\": [%d], ",
           request->names, task->is_huge ? "huge" : "small", task->bytes, huge_bytes,
           (unsigned long long)task->seed, touched.cpu_s, (unsigned long long)touched.page_faults,
           task->has_every_line ? "all" : "one", pu);
    print_memory_node(task->memory_node, share);
    print_times(request, times);
    return EXIT_SUCCESS;
}

static void print_team(const struct probe_team *team)
{
    printf("\"threads\": %d, \"thread_pus\": [", team->threads);
    for (int i = 0; i < team->threads && i < PROBE_MOST_THREADS; i++)
        printf("%s%d", i ? ", " : "", team->pus[i]);
    if (isnan(team->local_share))
        printf("], \"local_share\": null, ");
    else
        printf("], \"local_share\": %.6f, ", team->local_share);
}

static int measure_arrays(const struct request *request)
{
    const struct probe_task *task = &request->task;
    struct probe_memory memory[3] = {0};
    enum { ARRAYS = sizeof memory / sizeof *memory };
    static struct probe_team team;
    struct probe_times times[KERNELS] = {0};
    size_t huge_bytes = 0;
    double share = NAN;
    int error = probe_bind_team(task);
    if (error) return refuse("a PU", error);
    for (size_t i = 0; i < ARRAYS && !error; i++) {
        error = probe_memory_map(&memory[i], task->bytes, task->is_huge);
        if (!error) error = probe_prefer_node(&memory[i], task->memory_node);
    }
    if (!error) {
        const struct probe_arrays arrays = {memory[0].start, memory[1].start, memory[2].start,
                                            task->bytes / sizeof(double)};
        probe_streams_touch(&arrays, task->is_serial_first_touch);
        for (size_t k = 0; k < KERNELS && !error; k++)
            if (request->is_chosen[k])
                error = kernels[k].run_arrays(&arrays, task->repetitions, &times[k]);
        probe_observe_team(&arrays, &team);
    }
    for (size_t i = 0; i < ARRAYS && !error; i++) {
        size_t bytes = 0;
        error = probe_memory_on_huge_pages(&memory[i], &bytes);
        huge_bytes += bytes;
    }
    if (!error) share = probe_share_on_node(memory, ARRAYS, task->memory_node);
    for (size_t i = 0; i < ARRAYS; i++) probe_memory_unmap(&memory[i]);
    if (error) return refuse("the arrays", error);
    printf("{\"kernels\": \"%s\", \"pages\": \"%s\", \"bytes\": %zu, \"bytes_on_huge_pages\": %zu, "
           "\"first_touch\": \"%s\", ",
           request->names, task->is_huge ? "huge" : "small", task->bytes, huge_bytes,
           task->is_serial_first_touch ? "one" : "all");
    print_team(&team);
    print_memory_node(task->memory_node, share);
    print_times(request, times);
    return EXIT_SUCCESS;
}

static int describe(void)
{
    printf("{\"page_bytes\": %zu, \"huge_page_bytes\": %zu, ", probe_page_bytes(),
           probe_huge_page_bytes());
    probe_print_tlb_registers();
    printf("}\n");
    return EXIT_SUCCESS;
}

/* ---- the command line --------------------------------------------------------------- */

/* One of two words; *is_second tells which. 0 or -EINVAL. */
static int read_word(const char *text, const char *first, const char *second, bool *is_second)
{
    *is_second = !strcmp(text, second);
    return *is_second || !strcmp(text, first) ? 0 : -EINVAL;
}

/* Numbers of PUs with commas between them. 0 or -EINVAL. */
static int read_pus(const char *list, struct probe_task *task)
{
    task->pu_count = 0;
    while (task->pu_count < PROBE_MOST_THREADS) {
        char number[8] = "";
        uint64_t pu;
        const size_t length = strcspn(list, ",");
        if (length >= sizeof number) return -EINVAL;
        memcpy(number, list, length);
        if (numalab_read_whole(number, 0, MOST_PU, &pu)) return -EINVAL;
        task->pus[task->pu_count++] = (int)pu;
        if (!list[length]) return 0;
        list += length + 1;
    }
    return -EINVAL;
}

/* Names with commas between them, all of tables or all of streams. 0 or -EINVAL. */
static int read_kernels(const char *names, struct request *request)
{
    request->names = names;
    size_t tables = 0, streams = 0;
    while (true) {
        const size_t length = strcspn(names, ",");
        size_t k = 0;
        while (k < KERNELS &&
               (strlen(kernels[k].name) != length || strncmp(kernels[k].name, names, length)))
            k++;
        if (k == KERNELS || request->is_chosen[k]) return -EINVAL;
        request->is_chosen[k] = true;
        tables += kernels[k].run_table != NULL;
        streams += kernels[k].run_arrays != NULL;
        if (!names[length]) break;
        names += length + 1;
    }
    request->is_of_table = tables > 0;
    return tables && streams ? -EINVAL : 0;
}

/* key=value, of those that this kind of kernel has. 0 or -EINVAL. */
static int read_setting(const char *argument, struct request *request)
{
    struct probe_task *task = &request->task;
    const char *const value = strchr(argument, '=');
    if (!value) return -EINVAL;
    const size_t length = (size_t)(value - argument);
    const bool is_of_table = request->is_of_table;
    const struct {
        const char *key;
        bool is_known;
        uint64_t least, most;
        size_t *number; /* NULL: not a plain size */
    } settings[] = {
        {"pages", true, 0, 0, NULL},
        {"bytes", true, sizeof(double), SIZE_MAX / 8, &task->bytes},
        {"repetitions", true, 1, PROBE_MOST_REPETITIONS, &task->repetitions},
        {"first_touch", !is_of_table, 0, 0, NULL},
        {"steps", is_of_table, 1, UINT32_MAX, &task->steps},
        {"seed", is_of_table, 0, 0, NULL},
        {"lines", is_of_table, 0, 0, NULL},
        {"pus", true, 0, 0, NULL},
        {"memory_node", true, 0, MOST_NODE, NULL},
    };
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        if (!settings[i].is_known || strlen(settings[i].key) != length ||
            strncmp(settings[i].key, argument, length))
            continue;
        if (!strcmp(settings[i].key, "pages"))
            return read_word(value + 1, "small", "huge", &task->is_huge);
        if (!strcmp(settings[i].key, "first_touch"))
            return read_word(value + 1, "all", "one", &task->is_serial_first_touch);
        if (!strcmp(settings[i].key, "seed"))
            return numalab_read_whole(value + 1, 0, UINT64_MAX, &task->seed);
        if (!strcmp(settings[i].key, "lines"))
            return read_word(value + 1, "one", "all", &task->has_every_line);
        if (!strcmp(settings[i].key, "pus")) return read_pus(value + 1, task);
        uint64_t number;
        if (numalab_read_whole(value + 1, settings[i].least, settings[i].most, &number))
            return -EINVAL;
        if (!settings[i].number)
            task->memory_node = (int)number;
        else
            *settings[i].number = (size_t)number;
        return 0;
    }
    return -EINVAL;
}

/* A table's bytes are a power of two, since its updates take the highest bits of a number for a
 * place, and its links are counted in 32 bits; it has to have some. One thread uses it. */
static bool is_size_valid(const struct request *request)
{
    const size_t bytes = request->task.bytes, page_bytes = probe_page_bytes();
    if (!request->is_of_table) return bytes >= sizeof(double);
    return bytes >= SMALLEST_TABLE_PAGES * page_bytes && !(bytes & (bytes - 1)) &&
           bytes / (request->task.has_every_line ? SMALLEST_LINK_BYTES : page_bytes) <=
               UINT32_MAX &&
           request->task.pu_count <= 1;
}

/* word: what can't be taken of the command line, or NULL. */
static int misuse(const char *program, const char *word)
{
    if (word) fprintf(stderr, "%s: can't take %s: unknown here, or out of range\n", program, word);
    fprintf(stderr,
            "usage: %s describe\n"
            "       %s update,chase bytes=BYTES [pages=small|huge] [steps=N] [seed=N]\n"
            "              [lines=one|all] [repetitions=N]   (bytes: a power of two, %zu or more;\n"
            "              lines: of each page, in which a chase has links)\n"
            "       %s copy,triad,load,store bytes=BYTES [pages=small|huge]\n"
            "              [first_touch=all|one] [repetitions=N]   (bytes: of each array)\n"
            "All take pus=N,N,... (thread by thread; a table has one) and memory_node=N.\n"
            "N of repetitions: at most %d. Any of the kernels of a line may be left out.\n",
            program, program, SMALLEST_TABLE_PAGES * probe_page_bytes(), program,
            PROBE_MOST_REPETITIONS);
    return EXIT_MISUSE;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "describe")) return describe();
    if (argc > 1 && !strcmp(argv[1], "mixes")) return probe_mixes(argc - 2, argv + 2);
    struct request request = {
        .task = {.steps = 4096, .repetitions = 5, .seed = 1, .memory_node = PROBE_ANY_NODE}};
    if (argc < 3 || read_kernels(argv[1], &request)) return misuse(argv[0], argv[1]);
    for (int i = 2; i < argc; i++)
        if (read_setting(argv[i], &request)) return misuse(argv[0], argv[i]);
    if (!is_size_valid(&request)) return misuse(argv[0], "these bytes with this kernel");
    return request.is_of_table ? measure_table(&request) : measure_arrays(&request);
}
