/* The probe: what this node's memory can do, one kernel at a time. main.c has the words of its
 * command line, README.md beside it what each kernel measures and what could fake it.
 *
 * One process is one sample. Each kernel runs some repetitions, all of which are on record, and
 * what it leaves in memory is verified. */
#ifndef NUMALAB_PROBE_H
#define NUMALAB_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROBE_MOST_REPETITIONS = 64, PROBE_MOST_THREADS = 1024 };

/* Of memory_node: wherever Linux puts pages, which is the NUMA node of the thread that writes them
 * first. */
enum { PROBE_ANY_NODE = -1 };

/* A repetition of a table's kernel goes on for so many stretches, each timed by itself, and the
 * shortest counts: shorter than what a scheduler gives a program at once, so that on a busy node
 * some are whole, behind others that brought the caches back. */
enum { PROBE_STRETCHES = 64 };

/* What is to be measured. Of tables: bytes of the table, and the least steps of a stretch; of
 * streams: bytes of each array. pus: thread number i is bound to the i-th; pu_count 0: the runtime
 * says how many threads there are, and where. */
struct probe_task {
    bool is_huge; /* on huge pages; otherwise on none */
    bool is_serial_first_touch;
    bool has_every_line; /* of a chase: a link in each cache line; otherwise one in each page */
    size_t bytes, steps, repetitions;
    uint64_t seed;
    int memory_node, pu_count, pus[PROBE_MOST_THREADS];
};

/* Of one kernel. elapsed_s: of each repetition; of tables of its shortest stretch, which makes so
 * many steps. bytes_moved: by a repetition of a stream, from the arrays and to them;
 * bytes_allocated: those of them that are read only because a store fetches its cache line first.
 */
struct probe_times {
    size_t steps, bytes_moved, bytes_allocated;
    double elapsed_s[PROBE_MOST_REPETITIONS];
};

double probe_now_s(void); /* on a wall clock that only goes forward */

/* A small page's bytes, and a huge one's: that of the level above in the page table. */
size_t probe_page_bytes(void);
size_t probe_huge_page_bytes(void);

#endif
