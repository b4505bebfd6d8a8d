/* The probe measures this machine's memory, one kernel at a time. main.c describes its command
 * line, README.md what each kernel measures and what could fake it.
 *
 * Each process gives one record. Each kernel runs some repetitions, all of which are recorded, and
 * what it leaves in memory is verified. */
#ifndef NUMALAB_PROBE_H
#define NUMALAB_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_MOST_REPETITIONS = 64, PROBE_MOST_THREADS = 1024 };

/* The value of memory_node for no preference: pages are on the NUMA node of the thread that writes
 * them first. */
enum { PROBE_ANY_NODE = -1 };

/* The number of stretches of a repetition of a table's kernel. Each is timed by itself, and the
 * shortest counts. A stretch is shorter than a scheduler's time slice, so that under load some are
 * not interrupted and come after others that filled the caches again. */
enum { PROBE_STRETCHES = 64 };

/* What is to be measured. bytes: of the table, or of each array; steps: of tables, the least of a
 * stretch; memory_node: preferred NUMA node, or PROBE_ANY_NODE; pus: thread i is bound to pus[i];
 * pu_count 0: the runtime chooses the number of threads and their places. */
struct probe_task {
    bool is_huge;               /* memory on huge pages; else on small ones only */
    bool is_serial_first_touch; /* streams: the main thread writes all first; else each its part */
    bool has_every_line;        /* chase: a link in each cache line; else one in each small page */
    size_t bytes, steps, repetitions;
    uint64_t seed; /* tables: of random places */
    int memory_node, pu_count, pus[PROBE_MOST_THREADS];
};

/* The times of one kernel. elapsed_s: of each repetition, or for tables of its shortest stretch,
 * which makes `steps` steps. bytes_moved: by a repetition of a stream, from and to the arrays, with
 * bytes_allocated, which are read only because a store fetches its cache line first. */
struct probe_times {
    size_t steps, bytes_moved, bytes_allocated;
    double elapsed_s[PROBE_MOST_REPETITIONS];
};

double probe_now_s(void); /* seconds of a monotonic clock */

/* Return the bytes of a small page, and of a huge one, which is one level up in the page table. */
size_t probe_page_bytes(void);
size_t probe_huge_page_bytes(void);

#endif
