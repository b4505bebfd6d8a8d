/* The contract of labs/NN/driver.c: the arrays of a lab's kernels, its phases and the oracle.
 *
 * A driver defines numalab_drivers, with an entry for each kernel that is judged by itself. It is
 * linked into the monitor only, so the process that runs the student's code has no correct result.
 * CONTRIBUTING.md has the smallest one, common/tests/minimal_driver.c.
 *
 * Required in struct numalab_driver: lab, arrays, array_count, initialize_phase, compute_phase,
 * bytes_moved, destroy, advance, compare; create, or for MPI ranks create_ranks and select_rank;
 * change, or renew and renewed. All else may be 0 or NULL, with the default that its line names.
 *
 * Strings and tables belong to the driver and are never freed. An oracle is made by create or
 * create_ranks and freed by destroy. Several threads may call compare, row_name and remark at once;
 * all other functions are called by one thread. Sizes n are numbers of elements, unless n_unit says
 * otherwise. */
#ifndef NUMALAB_DRIVER_H
#define NUMALAB_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NUMALAB_MAX_ARRAYS = 8, NUMALAB_MAX_ELEMENT_BYTES = 16 };
enum { NUMALAB_REMARK_BYTES = 160 }; /* with the 0 at its end */
enum { NUMALAB_SMALL_PAGE_BYTES = 4096 };
/* The bytes of an array's first and last page that are not the array's. */
enum { NUMALAB_GUARD_PATTERN = 0xa5 };

struct numalab_array {
    const char *name;     /* as in the lab's contract header */
    size_t element_bytes; /* a power of two, at most NUMALAB_MAX_ELEMENT_BYTES */
};

/* A new value for one element, between two repetitions. Since any element may have changed, a
 * kernel has to read all, and can't save time by skipping what stayed the same. */
struct numalab_change {
    size_t array;                                   /* index into the driver's arrays */
    size_t element;                                 /* from 0 */
    unsigned char value[NUMALAB_MAX_ELEMENT_BYTES]; /* its first element_bytes are used */
};

struct numalab_oracle; /* defined by the driver: what the arrays should hold now */

/* The first element that differs from the oracle. */
enum { NUMALAB_DIGITS_BYTES = 21 }; /* a 64-bit number, with a sign and the 0 at the end */
struct numalab_mismatch {
    size_t array;
    size_t element;
    double expected;
    double actual; /* may be NaN */
    /* All digits of whole numbers, which a double does not have beyond 2^53; else "". */
    char expected_digits[NUMALAB_DIGITS_BYTES];
    char actual_digits[NUMALAB_DIGITS_BYTES];
};

/* Return the mismatch of an element of an array of whole numbers, with all digits. */
struct numalab_mismatch numalab_make_signed_mismatch(size_t array, size_t element, int64_t expected,
                                                     int64_t actual);
struct numalab_mismatch numalab_make_unsigned_mismatch(size_t array, size_t element,
                                                       uint64_t expected, uint64_t actual);

/* ---- runs that only some labs have; in each, arrays are named by their index ---------------- */

/* Run stores: kernels whose threads count, each in a block of int64_t counters of its own. The
 * first array is what they count; each thread reads its part of it. */
struct numalab_counting {
    size_t sums; /* holds the result: all blocks added up, counter by counter */
    /* 24 bytes per thread: the address of its block; its length in counters, 0 where the thread has
     * none; 1 where the block is on a thread's stack, else 0. */
    size_t slots;
    size_t length;           /* of a block, in counters; at most 64 */
    const char *slots_phase; /* the phase that fills slots */
};

/* Run placing (runs/memory_policy.c): kernels that place memory. Elements of arrays have 8 bytes.
 */
struct numalab_memory_policy {
    size_t matrix;                  /* the kernel hands it to the NUMA node of the last thread */
    size_t thread_nodes;            /* its first elements: the NUMA node that each thread runs on */
    size_t control;                 /* an array that no kernel is to place */
    const char *thread_nodes_phase; /* the phase that fills thread_nodes */
    const char *first_phase;        /* ... that writes the first part of the matrix */
    const char *hand_over_phase;    /* ... that calls the kernel */
    const char *rest_phase;         /* ... that writes the rest of the matrix */
};

/* Run series: kernels that answer questions about random inputs. The driver has renewed, too. */
enum { NUMALAB_MAX_ANSWERS = 2 };
struct numalab_series {
    const char *const *kinds; /* names of the kinds of series; ends with NULL */
    size_t series_per_kind;
    size_t n; /* the problem's size, the most elements of a series */
    /* The first of answer_count arrays of int64_t, the first element of each of which is an
     * answer. */
    size_t first_answer;
    size_t answer_count; /* 1 to NUMALAB_MAX_ANSWERS */
    /* Draws a series of a kind by a random number; renewed then returns the inputs. Returns the
     * length of the series, at most n. */
    size_t (*draw)(struct numalab_oracle *oracle, size_t kind, uint64_t random);
    /* Fills truth with the correct answers to the series that was drawn last. */
    void (*truth)(const struct numalab_oracle *oracle, int64_t truth[NUMALAB_MAX_ANSWERS]);
};

/* Run stops: a kernel that detects stops of its own thread. Arrays have elements of int64_t. */
struct numalab_stop_detection {
    /* Its elements, in nanoseconds: how long to watch; the shortest stop that counts; an offset
     * that the monitor changes meanwhile, and that the phase adds to each reading of its clock. */
    size_t request;
    size_t stops;           /* its first element: the number of stops that the kernel detected */
    size_t steal;           /* its first element: nanoseconds that these took in all */
    const char *live_phase; /* the phase that calls the kernel with a real clock */
};

/* ---- the driver ---------------------------------------------------------------------------- */

struct numalab_driver {
    const char *lab;  /* required: the lab's folder */
    const char *part; /* the name of one of the lab's kernels; NULL: it has one only */

    const struct numalab_array *arrays; /* required */
    size_t array_count;                 /* required: 1 to NUMALAB_MAX_ARRAYS */

    /* Phases, by their names in phases.c. */
    const char *create_phase;     /* the kernel maps the arrays; NULL: numalab maps them */
    const char *destroy_phase;    /* the kernel frees them; NULL as above */
    const char *initialize_phase; /* required: places the pages; runs first, and once */
    const char *compute_phase;    /* required: repeated and timed */

    /* For kernels that are MPI ranks; NULL: they are not. Phases get the same n in all ranks. */
    const char *start_phase;   /* initialises MPI; run once in every rank, before all else */
    const size_t *rank_counts; /* numbers of ranks with which results are checked; ends with 0 */

    /* Returns the elements of an array in one rank of a job. NULL: n elements in each array. */
    size_t (*count)(size_t n, size_t array, size_t rank, size_t ranks);

    /* Kernels may get transparent huge pages, but not the starting code, with which others are
     * compared. false: none gets any. */
    bool uses_huge_pages;

    /* Problem sizes. */
    size_t timed_n[3];      /* for timing: quick, default, published, of which the first two are
                               halved until the arrays fit into an eighth of memory; 0: four times
                               the last-level caches (sizing.h) */
    size_t evidence_n;      /* for page evidence, of all pages; 0: 2^21 elements per array and up to
                               an eighth more, of pages drawn at random */
    size_t few_pages_n;     /* in its stead with several NUMA nodes where few pages are traced, as
                               on virtual machines, whose page faults take long; 0: evidence_n */
    size_t largest_check_n; /* the largest size whose results are checked; 0: 100,003. Below 512,
                               for kernels without a loop over the arrays, no random sizes are */
    const size_t *check_n;  /* these sizes in its stead, ending with SIZE_MAX, and random ones from
                               the smallest of them up to 575, unless largest_check_n is 1 to 511.
                               NULL: usual and random sizes up to largest_check_n */

    /* One in so many elements is changed between two repetitions, at random in each equal part: 8
     * to 32,768 elements. 0: 8 in all, anywhere. Never 1, since threads write changes in any order.
     * With one in each small page, finding it takes as long as reading all. */
    size_t elements_per_change;

    /* Elements of each array that are compared at a place that is checked between timed
     * repetitions; 0: as many as a page has. Fewer where the oracle needs long for each. */
    size_t spot_elements[NUMALAB_MAX_ARRAYS];

    const struct numalab_counting *counting;             /* run stores; NULL: no such run */
    const struct numalab_memory_policy *memory_policy;   /* run placing; NULL: no such run */
    const struct numalab_series *series;                 /* run series; NULL: no such run */
    const struct numalab_stop_detection *stop_detection; /* run stops; NULL: no such run */

    const char *n_unit; /* what n counts, such as "pairs"; NULL: elements */

    /* Returns the round trips of one compute phase that is a ping-pong; is_brief as in
     * create_ranks. NULL: it is none. */
    size_t (*repetitions)(size_t n, bool is_brief);

    /* required: returns the bytes that cross between cores and memory in one compute phase, with
     * ordinary stores and arrays larger than caches: those read, those written, and cache lines
     * that are read only because a store fetches its line first (write-allocate). 0: a rate would
     * say nothing of memory. */
    size_t (*bytes_moved)(size_t n);

    /* Returns those of them that are write-allocate; the difference is what STREAM counts. NULL: no
     * array is written that is not read. */
    size_t (*bytes_allocated)(size_t n);

    /* Returns the loads of one compute phase each of which has its address from the one before it.
     * NULL: it has none. */
    size_t (*loads_in_chain)(size_t n);

    /* Fills row and column, from 0, of an element of an array that has two dimensions. Returns
     * false for other arrays. NULL: none has two. */
    bool (*place)(size_t n, size_t array, size_t element, size_t *row, size_t *column);

    /* Returns the name of an element's row where that is not one of the rank's own rows, such as a
     * neighbour's; else NULL. NULL: all rows are the rank's own. */
    const char *(*row_name)(const struct numalab_oracle *oracle, size_t array, size_t element);

    /* required, but for ranks. Returns the oracle of arrays that are not yet initialised; NULL
     * without memory. */
    struct numalab_oracle *(*create)(size_t n);

    /* In create's stead for ranks. is_brief: what numalab_is_brief (ranks.h) returns in them. */
    struct numalab_oracle *(*create_ranks)(size_t n, size_t ranks, bool is_brief);

    /* Returns the oracle as one rank has it, which change, compare, row_name and remark get. It
     * belongs to the whole one and is not destroyed. */
    struct numalab_oracle *(*select_rank)(struct numalab_oracle *oracle, size_t rank);

    void (*destroy)(struct numalab_oracle *oracle); /* required: frees it */

    /* required: changes the oracle to what the arrays should hold after the named phase has run
     * once more. */
    void (*advance)(struct numalab_oracle *oracle, const char *phase);

    /* required, or renew: chooses an input element and its new value by two random numbers, notes
     * it in the oracle and fills change. element: random_position modulo n in arrays of n elements.
     * Returns 0 or -ENOMEM. */
    int (*change)(struct numalab_oracle *oracle, uint64_t random_position, uint64_t random_value,
                  struct numalab_change *change);

    /* In change's stead, not for ranks: gives all inputs new values by a random number. For kernels
     * that could update a result after few changes with less work than computing it takes. */
    void (*renew)(struct numalab_oracle *oracle, uint64_t random);

    /* Returns all elements of an array after renew, which belong to the oracle; NULL: the array is
     * no input. */
    const void *(*renewed)(const struct numalab_oracle *oracle, size_t array);

    /* required: compares count elements of an array, from element first on, with what they should
     * be. Returns how many differ, and fills mismatch with the first of these. NaN always differs:
     * write !(actual == expected). Several threads call it at once, for different elements. */
    size_t (*compare)(const struct numalab_oracle *oracle, size_t array, size_t first, size_t count,
                      const void *actual, struct numalab_mismatch *mismatch);

    /* Fills remark with a sentence that explains a mismatch in the lab's words, or leaves it "".
     * first, count and actual: as compare got them. NULL: no remarks. */
    void (*remark)(const struct numalab_oracle *oracle, const struct numalab_mismatch *mismatch,
                   size_t first, size_t count, const void *actual,
                   char remark[NUMALAB_REMARK_BYTES]);
};

/* The lab's drivers; ends with NULL. */
extern const struct numalab_driver *const numalab_drivers[];

#endif
