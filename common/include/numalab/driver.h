/* What a lab tells the monitor: its arrays, its phases and the oracle.
 *
 * driver.c of each lab defines numalab_drivers, one for each kernel that is judged
 * apart. It is linked into the monitor only, so the process that holds the student's
 * code knows no right answer. */
#ifndef NUMALAB_DRIVER_H
#define NUMALAB_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMALAB_MAX_ARRAYS = 8, NUMALAB_MAX_ELEMENT_BYTES = 16 };
enum { NUMALAB_REMARK_BYTES = 160 }; /* with the 0 at its end */
enum { NUMALAB_SMALL_PAGE_BYTES = 4096 };
enum { NUMALAB_GUARD_PATTERN = 0xa5 }; /* of each byte of an array's first page before the array */

struct numalab_array {
    const char *name;     /* as in the lab's contract header */
    size_t element_bytes; /* at most NUMALAB_MAX_ELEMENT_BYTES */
};

/* One element given a new value between two repetitions. What a kernel could find and skip that has
 * stayed the same would be paid as work: so who computes from it reads all of it again. */
struct numalab_change {
    size_t array; /* index into the driver's arrays */
    size_t element;
    unsigned char value[NUMALAB_MAX_ELEMENT_BYTES];
};

/* Of a kernel whose threads each count in a block of counters of their own: arrays by their index.
 * What they count is the first array, of which each thread reads its part. slots_phase fills slots,
 * of which the first elements are those of the threads: where a thread's block begins, an address
 * of 8 bytes, how many counters it has, 8 bytes: length, or 0 of a thread that has none, and
 * whether that is on a thread's stack, 8 bytes. A
 * counter is an int64_t; all blocks, counter by counter, add up to what sums has to hold. */
struct numalab_counting {
    size_t sums, slots, length;
    const char *slots_phase;
};

/* Of kernels that say where memory goes (runs/memory_policy.c): arrays by their index, of elements
 * of 8 bytes, and phases. thread_nodes_phase writes into the first elements of thread_nodes the
 * NUMA node that each thread of the team runs on. control: an array that no kernel is asked to
 * place. The matrix is handed to the NUMA node of the last thread: first_phase writes its first
 * part, hand_over_phase calls the kernel, rest_phase writes what is left. */
struct numalab_memory_policy {
    size_t matrix, thread_nodes, control;
    const char *thread_nodes_phase, *first_phase, *hand_over_phase, *rest_phase;
};

struct numalab_oracle; /* the lab's own; what the arrays should hold now */

/* Of kernels that give answers about what is drawn (runs/series.c): kinds of series, by name, and
 * of each so many. draw makes one of a kind by a random number, the inputs that renewed then tells,
 * and returns its length; arrays have room for n elements. Answers are the first elements of
 * answer_count arrays of int64_t from first_answer on; truth: what they should be. */
enum { NUMALAB_MAX_ANSWERS = 2 };
struct numalab_series {
    const char *const *kinds; /* ends with NULL */
    size_t series_per_kind, n;
    size_t first_answer, answer_count; /* at most NUMALAB_MAX_ANSWERS */
    size_t (*draw)(struct numalab_oracle *oracle, size_t kind, uint64_t random);
    void (*truth)(const struct numalab_oracle *oracle, int64_t truth[NUMALAB_MAX_ANSWERS]);
};

/* Of a kernel that finds the stops of its thread (runs/stops.c): arrays by their index, of int64_t.
 * live_phase calls it with a real clock, for as many nanoseconds as the first element of request
 * says; the second one is the least length of a stop. The third one, which the monitor changes
 * meanwhile, is added to each reading of that clock. */
struct numalab_stop_detection {
    size_t request, stops, steal;
    const char *live_phase;
};

/* The first element that differs from the oracle. Of whole numbers also their digits, since a
 * double leaves some out beyond 2^53; else empty. */
enum { NUMALAB_DIGITS_BYTES = 21 }; /* of 64 bits, with a sign and the 0 at the end */
struct numalab_mismatch {
    size_t array;
    size_t element;
    double expected;
    double actual; /* may be NaN */
    char expected_digits[NUMALAB_DIGITS_BYTES];
    char actual_digits[NUMALAB_DIGITS_BYTES];
};

/* A mismatch of an array of whole numbers, with all of their digits. */
struct numalab_mismatch numalab_make_signed_mismatch(size_t array, size_t element, int64_t expected,
                                                     int64_t actual);
struct numalab_mismatch numalab_make_unsigned_mismatch(size_t array, size_t element,
                                                       uint64_t expected, uint64_t actual);

struct numalab_driver {
    const char *lab;
    const char *part; /* which of the lab's kernels; NULL where there is one */
    const struct numalab_array *arrays;
    size_t array_count;
    const char *create_phase;     /* maps the arrays; NULL: the kit does */
    const char *destroy_phase;    /* gives them back; NULL as above */
    const char *initialize_phase; /* places the pages, run once per process */
    const char *compute_phase;    /* is repeated and timed */

    /* Kernels that are ranks of an MPI job; all NULL where they are not. Phases get the
     * same n in all ranks. */
    const char *start_phase;   /* initialises MPI; run once in every rank, before all else */
    const size_t *rank_counts; /* of jobs whose results are checked; ends with 0 */
    size_t (*count)(size_t n, size_t array, size_t rank, size_t ranks); /* elements of an
                                                                    array in one rank */

    /* Workers may have transparent huge pages, but for the handout's: it is what they
     * are compared with, whatever the system's mode. */
    bool uses_huge_pages;

    /* Problem sizes; 0: follows from the node and the arrays. Of timing: quick, default
     * and published. Results are checked in sizes up to largest_check_n, by default
     * 100,003, or in the sizes of check_n, which ends with SIZE_MAX; one below 512 says that no
     * loop goes over the arrays, and few sizes will do. evidence_n: where pages are looked at, and
     * then at all of them; by default at least 2^21 elements per array, and a little more by chance
     * (sizing.h). few_pages_n: instead of evidence_n where a page fault takes its time and pages
     * count by NUMA node. */
    size_t timed_n[3];
    size_t evidence_n;
    size_t few_pages_n;
    size_t largest_check_n;
    const size_t *check_n;

    /* Between two repetitions one of so many elements is changed, at random in each equal part;
     * 0: a few in all; never 1, since threads change them in any order. One in each small page,
     * where to find it takes as long as to read it all. */
    size_t elements_per_change;

    /* Of each array, elements that are compared at a place which is looked at between timed
     * repetitions, where each takes its time; 0: a page. */
    size_t spot_elements[NUMALAB_MAX_ARRAYS];

    /* For runs/stores.c; NULL: its threads do not count. */
    const struct numalab_counting *counting;

    /* For runs/memory_policy.c; NULL: its kernel places no memory. */
    const struct numalab_memory_policy *memory_policy;

    /* For runs/series.c; NULL: its kernel answers nothing. */
    const struct numalab_series *series;

    /* For runs/stops.c; NULL: its kernel finds no stops. */
    const struct numalab_stop_detection *stop_detection;

    const char *n_unit; /* what n counts, where it is no number of elements; else NULL */

    /* Round trips of one compute phase, where that is a ping-pong; else NULL. is_brief: as of
     * create_ranks. */
    size_t (*repetitions)(size_t n, bool is_brief);

    /* Bytes that cross between cores and memory in one compute phase, with ordinary stores and
     * where its arrays fill no cache: what it reads, what it writes, and the cache lines that it
     * reads only because a store fetches its line first (write-allocate). bytes_allocated: the last
     * of these, so that the difference is what STREAM counts; NULL: no array is written that is not
     * read. Both 0 where a rate would say nothing of memory. */
    size_t (*bytes_moved)(size_t n);
    size_t (*bytes_allocated)(size_t n);

    /* Loads of one compute phase each of which has its address from the one before it; NULL: it is
     * not about them. */
    size_t (*loads_in_chain)(size_t n);

    /* Row and column of an element, from 0, of arrays that have two dimensions; false for
     * others. NULL: none has. */
    bool (*place)(size_t n, size_t array, size_t element, size_t *row, size_t *column);

    /* Of an element of such an array whose row is not the rank's own, what that row is, in
     * words; NULL for others. NULL: all rows are. */
    const char *(*row_name)(const struct numalab_oracle *oracle, size_t array, size_t element);

    /* Returns NULL when there is no memory. The caller owns it. With ranks: create_ranks
     * in create's stead, and select_rank for the oracle as one of them sees it, which change
     * and compare are given; it belongs to the whole one. is_brief: the ranks are told so
     * (ranks.h). */
    struct numalab_oracle *(*create)(size_t n);
    struct numalab_oracle *(*create_ranks)(size_t n, size_t ranks, bool is_brief);
    struct numalab_oracle *(*select_rank)(struct numalab_oracle *oracle, size_t rank);
    void (*destroy)(struct numalab_oracle *oracle);

    /* The named phase has run once. */
    void (*advance)(struct numalab_oracle *oracle, const char *phase);

    /* Chooses one input element and its new value by the two random numbers,
     * notes it in the oracle and fills change: the element is random_position modulo n in arrays
     * of n elements. Returns 0 or -ENOMEM. NULL where there is renew. */
    int (*change)(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change);

    /* Gives all inputs new values by a random number, where a result that few changes reach could
     * be brought up to date with less work than it takes; of one worker only. NULL: change does.
     * renewed: what an array then holds, or NULL where it is none of the inputs; the oracle's. */
    void (*renew)(struct numalab_oracle *oracle, uint64_t random);
    const void *(*renewed)(const struct numalab_oracle *oracle, size_t array);

    /* Compares count elements of an array, from element first on, with what
     * they should be. Returns how many are wrong; if any, fills mismatch with
     * the first. NaN is always wrong. Threads may do so at once, with elements of their own. */
    size_t (*compare)(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch);

    /* What a mismatch means in the lab's own words, a sentence; remark stays as it is, empty,
     * where there is nothing to say. Found are count elements from element first on, as
     * compare got them; threads, too. NULL: there never is. */
    void (*remark)(const struct numalab_oracle *oracle, const struct numalab_mismatch *mismatch,
                   size_t first, size_t count, const void *actual,
                   char remark[NUMALAB_REMARK_BYTES]);
};

/* Ends with NULL. */
extern const struct numalab_driver *const numalab_drivers[];

#endif
