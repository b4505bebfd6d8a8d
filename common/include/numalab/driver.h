/* The contract of labs/NN/driver.c: the arrays of a lab's kernels, its phases and the oracle.
 *
 * A driver defines numalab_drivers, one entry for each kernel that is judged apart. It is linked
 * into the monitor only, so the process that holds the student's code has no correct result.
 * CONTRIBUTING.md has the smallest one, common/tests/minimal_driver.c.
 *
 * Required in struct numalab_driver: lab, arrays, array_count, initialize_phase, compute_phase,
 * bytes_moved, destroy, advance, compare; create, or of MPI ranks create_ranks and select_rank;
 * change, or renew and renewed. All else may be 0 or NULL, with the default that its line names.
 *
 * Strings and tables are the driver's and are never freed. An oracle is made by create and ended by
 * destroy; the monitor calls a driver from one thread, but for compare, row_name and remark. */
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
    size_t element_bytes; /* a power of two, at most NUMALAB_MAX_ELEMENT_BYTES */
};

/* One element given a new value between two repetitions. A kernel that could skip what stayed the
 * same would be paid for work it has not done; since any element may have changed it reads all. */
struct numalab_change {
    size_t array;                                   /* index into the driver's arrays */
    size_t element;                                 /* from 0 */
    unsigned char value[NUMALAB_MAX_ELEMENT_BYTES]; /* the first element_bytes of it */
};

struct numalab_oracle; /* the lab's own: what the arrays should hold now */

/* The first element that differs from the oracle. */
enum { NUMALAB_DIGITS_BYTES = 21 }; /* of 64 bits, with a sign and the 0 at the end */
struct numalab_mismatch {
    size_t array;
    size_t element;
    double expected;
    double actual; /* may be NaN */
    /* Of whole numbers all digits, since a double leaves some out beyond 2^53; else "". */
    char expected_digits[NUMALAB_DIGITS_BYTES];
    char actual_digits[NUMALAB_DIGITS_BYTES];
};

/* Return a mismatch of an array of whole numbers, with all of their digits. */
struct numalab_mismatch numalab_make_signed_mismatch(size_t array, size_t element, int64_t expected,
                                                     int64_t actual);
struct numalab_mismatch numalab_make_unsigned_mismatch(size_t array, size_t element,
                                                       uint64_t expected, uint64_t actual);

/* ---- runs that only some labs have; in each, arrays are named by their index ---------------- */

/* stores: threads that count each in a block of int64_t counters of their own. The first array is
 * what they count; each thread reads its part of it. */
struct numalab_counting {
    size_t sums; /* holds the result: all blocks added up, counter by counter */
    /* Elements of 24 bytes, one per thread: address of its block; length in counters, 0 where the
     * thread has none; 1 where the block lies on a thread's stack. */
    size_t slots;
    size_t length;           /* counters of a block */
    const char *slots_phase; /* fills slots */
};

/* placing (runs/memory_policy.c): kernels that place memory. Arrays have elements of 8 bytes. */
struct numalab_memory_policy {
    size_t matrix;                  /* handed to the NUMA node of the last thread */
    size_t thread_nodes;            /* its first elements: the NUMA node that each thread runs on */
    size_t control;                 /* an array that no kernel is asked to place */
    const char *thread_nodes_phase; /* fills thread_nodes */
    const char *first_phase;        /* writes the first part of the matrix */
    const char *hand_over_phase;    /* calls the kernel */
    const char *rest_phase;         /* writes the rest of the matrix */
};

/* series: kernels that answer questions about random inputs. */
enum { NUMALAB_MAX_ANSWERS = 2 };
struct numalab_series {
    const char *const *kinds; /* names of the kinds of series; ends with NULL */
    size_t series_per_kind;
    size_t n;            /* elements that arrays have room for */
    size_t first_answer; /* answers: the first elements of the arrays of int64_t from this one on */
    size_t answer_count; /* 1 to NUMALAB_MAX_ANSWERS */
    /* Draws a series of a kind by a random number; renewed then returns the inputs. Returns its
     * length, at most n. */
    size_t (*draw)(struct numalab_oracle *oracle, size_t kind, uint64_t random);
    /* Fills the answers to what was drawn. */
    void (*truth)(const struct numalab_oracle *oracle, int64_t truth[NUMALAB_MAX_ANSWERS]);
};

/* stops: a kernel that detects stops of its own thread. Arrays have elements of int64_t. */
struct numalab_stop_detection {
    /* Its elements, in nanoseconds: how long to watch; the shortest stop that counts; an offset
     * that the monitor changes meanwhile, and that the phase adds to each reading of its clock. */
    size_t request;
    size_t stops;           /* its first element: how many the kernel has detected */
    size_t steal;           /* its first element: nanoseconds that they took in all */
    const char *live_phase; /* calls the kernel with a real clock */
};

/* ---- the driver ---------------------------------------------------------------------------- */

struct numalab_driver {
    const char *lab;  /* required: the lab's folder */
    const char *part; /* which of the lab's kernels; NULL: it has one */

    const struct numalab_array *arrays; /* required */
    size_t array_count;                 /* required: 1 to NUMALAB_MAX_ARRAYS */

    /* Phases, by their names in phases.c. */
    const char *create_phase;     /* the kernel maps the arrays; NULL: numalab maps them */
    const char *destroy_phase;    /* the kernel gives them back; NULL as above */
    const char *initialize_phase; /* required: places the pages, run once per process */
    const char *compute_phase;    /* required: repeated and timed */

    /* Kernels that are MPI ranks; NULL: they are not. Phases get the same n in all ranks. */
    const char *start_phase;   /* initialises MPI; run once in every rank, before all else */
    const size_t *rank_counts; /* jobs whose results are checked, in ranks; ends with 0 */

    /* Elements of an array in one rank of a job. NULL: n of each array. */
    size_t (*count)(size_t n, size_t array, size_t rank, size_t ranks);

    /* Workers may have transparent huge pages, but for the handout's: it is what they are compared
     * with, whatever the system's mode. false: none may. */
    bool uses_huge_pages;

    /* Problem sizes. */
    size_t timed_n[3];      /* timing: quick, default, published; 0: four times the last-level
                               cache (sizing.h) */
    size_t evidence_n;      /* page evidence, of all pages; 0: 2^21 elements per array and up to an
                               eighth more, of pages drawn at random */
    size_t few_pages_n;     /* in evidence_n's stead where a page fault takes long and pages count
                               by NUMA node; 0: evidence_n */
    size_t largest_check_n; /* largest size whose results are checked; 0: 100,003. Below 512: no
                               loop goes over the arrays, and few sizes will do */
    const size_t *check_n;  /* the sizes themselves, in its stead; ends with SIZE_MAX. NULL: many */

    /* One in so many elements is changed between two repetitions, at random in each equal part; 0:
     * 8 in all. Never 1, since threads write changes in any order. One in each small page makes
     * finding it as slow as reading all. */
    size_t elements_per_change;

    /* Elements of each array that are compared at a place which is checked between timed
     * repetitions; 0: a page of them. Fewer where each takes the oracle long. */
    size_t spot_elements[NUMALAB_MAX_ARRAYS];

    const struct numalab_counting *counting;             /* run stores; NULL: no threads count */
    const struct numalab_memory_policy *memory_policy;   /* run placing; NULL: none is placed */
    const struct numalab_series *series;                 /* run series; NULL: no answers */
    const struct numalab_stop_detection *stop_detection; /* run stops; NULL: none is detected */

    const char *n_unit; /* what n counts, such as "pairs"; NULL: elements */

    /* Round trips of one compute phase that is a ping-pong; is_brief as in create_ranks. NULL: it
     * is none. */
    size_t (*repetitions)(size_t n, bool is_brief);

    /* required: bytes that cross between cores and memory in one compute phase, with ordinary
     * stores and arrays that fill no cache: read, written, and cache lines that are read only
     * because a store fetches its line first (write-allocate). 0: a rate would say nothing of
     * memory. */
    size_t (*bytes_moved)(size_t n);

    /* Those of them that are write-allocate, so that the difference is what STREAM counts. NULL: no
     * array is written that is not read. */
    size_t (*bytes_allocated)(size_t n);

    /* Loads of one compute phase each of which has its address from the one before it. NULL: it is
     * not about them. */
    size_t (*loads_in_chain)(size_t n);

    /* Fills row and column, from 0, of an element of an array that has two dimensions. Returns
     * false for other arrays. NULL: none has. */
    bool (*place)(size_t n, size_t array, size_t element, size_t *row, size_t *column);

    /* Returns, in words, what the row of an element is that is not the rank's own; NULL for others.
     * NULL: all rows are. */
    const char *(*row_name)(const struct numalab_oracle *oracle, size_t array, size_t element);

    /* required, but for ranks. Returns the oracle of arrays that are not yet initialised; NULL:
     * there is no memory. */
    struct numalab_oracle *(*create)(size_t n);

    /* In create's stead for ranks. is_brief: what numalab_is_brief (ranks.h) returns in them. */
    struct numalab_oracle *(*create_ranks)(size_t n, size_t ranks, bool is_brief);

    /* Returns the oracle as one rank has it, which change, compare and row_name get; it is the
     * whole one's and not destroyed. */
    struct numalab_oracle *(*select_rank)(struct numalab_oracle *oracle, size_t rank);

    void (*destroy)(struct numalab_oracle *oracle); /* required */

    /* required: the named phase has run once. The oracle holds then what the arrays should. */
    void (*advance)(struct numalab_oracle *oracle, const char *phase);

    /* required, or renew: chooses one input element and its new value by two random numbers, notes
     * it in the oracle and fills change. element: random_position modulo n in arrays of n elements.
     * Returns 0 or -ENOMEM. */
    int (*change)(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change);

    /* In change's stead, of one worker only: gives all inputs new values by a random number, where
     * a result that few changes reach could be brought up to date with less work than it takes. */
    void (*renew)(struct numalab_oracle *oracle, uint64_t random);

    /* Returns what an array then holds, count elements, which are the oracle's; NULL: the array is
     * no input. */
    const void *(*renewed)(const struct numalab_oracle *oracle, size_t array);

    /* required: compares count elements of an array, from element first on, with what they should
     * be. Returns how many differ, and of the first fills mismatch. NaN always differs: write
     * !(actual == expected). Threads call it at once, for elements of their own. */
    size_t (*compare)(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch);

    /* Explains a mismatch in the lab's words, a sentence; leaves remark as it is, "", where there
     * is nothing to say. first, count and actual: as compare got them; threads, too. NULL: no
     * remarks. */
    void (*remark)(const struct numalab_oracle *oracle, const struct numalab_mismatch *mismatch,
                   size_t first, size_t count, const void *actual,
                   char remark[NUMALAB_REMARK_BYTES]);
};

/* Ends with NULL. */
extern const struct numalab_driver *const numalab_drivers[];

#endif
