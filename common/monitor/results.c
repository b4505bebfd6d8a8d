#define _GNU_SOURCE
#include "results.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* Small enough to stay in the second level cache between the copy out of the
 * worker and the comparison. */
enum { CHUNK_BYTES = 512 << 10, CHUNK_ALIGNMENT = 64 };

/* Fewer bytes, or changes, are not worth a thread. */
enum { LEAST_PART_BYTES = 4 << 20, LEAST_PART_CHANGES = 1024, MOST_PARTS = 16 };

/* Bytes of the array's first page that lie before the array. None of an array that the
 * kernel made: an allocator may keep its books there. */
static size_t bytes_before(const struct numalab_worker *worker, size_t array)
{
    if (worker->makes_arrays) return 0;
    return (size_t)(worker->address[array] % (uint64_t)sysconf(_SC_PAGESIZE));
}

/* Bytes of the array's last page that lie behind it, where it ends before that does. */
static size_t bytes_after(const struct numalab_worker *worker, size_t array)
{
    const size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    if (worker->makes_arrays) return 0;
    const size_t past = (size_t)((worker->address[array] + worker->bytes[array]) % page_bytes);
    return past ? page_bytes - past : 0;
}

static int fill(struct numalab_worker *worker, uint64_t address, size_t bytes, int value)
{
    unsigned char block[65536];
    memset(block, value, sizeof block);
    while (bytes > 0) {
        size_t part = bytes < sizeof block ? bytes : sizeof block;
        if (numalab_worker_write_or_fail(worker, address, block, part) < 0) return -1;
        address += part;
        bytes -= part;
    }
    return 0;
}

int numalab_results_prepare(struct numalab_worker *worker)
{
    for (size_t i = 0; i < worker->array_count; i++) {
        size_t before = bytes_before(worker, i);
        const uint64_t end = worker->address[i] + worker->bytes[i];
        if (fill(worker, worker->address[i] - before, before, NUMALAB_GUARD_PATTERN) < 0 ||
            fill(worker, end, bytes_after(worker, i), NUMALAB_GUARD_PATTERN) < 0 ||
            fill(worker, worker->address[i], worker->bytes[i], 0xff) < 0)
            return -1;
    }
    return 0;
}

/* Whether all bytes from an address on, 64 KiB at most, are as they were filled; -1 with the
 * outcome set. */
static int is_untouched(struct numalab_worker *worker, uint64_t address, size_t bytes)
{
    unsigned char block[65536];
    if (bytes > sizeof block) bytes = sizeof block;
    if (numalab_worker_read_or_fail(worker, address, block, bytes) < 0) return -1;
    for (size_t k = 0; k < bytes; k++)
        if (block[k] != NUMALAB_GUARD_PATTERN) return 0;
    return 1;
}

int numalab_results_check_before(struct numalab_worker *worker, struct numalab_results *results)
{
    for (size_t i = 0; i < worker->array_count; i++) {
        const size_t before = bytes_before(worker, i);
        const int is_right = is_untouched(worker, worker->address[i] - before, before);
        const int is_right_after = is_right < 0
                                       ? -1
                                       : is_untouched(worker, worker->address[i] + worker->bytes[i],
                                                      bytes_after(worker, i));
        if (is_right < 0 || is_right_after < 0) return -1;
        if ((is_right && is_right_after) || results->wrote_before_array ||
            results->wrote_after_array)
            continue;
        results->wrote_before_array = !is_right;
        results->wrote_after_array = is_right;
        results->damaged_array = i;
    }
    return 0;
}

/* Keeps the first mismatch of all, in a chunk of count elements from element first on. */
static void note_mismatch(const struct numalab_worker *worker,
                          const struct numalab_expected *expected,
                          const struct numalab_mismatch *mismatch, size_t first, size_t count,
                          const void *chunk, struct numalab_results *results)
{
    const struct numalab_driver *driver = expected->driver;
    if (results->mismatches > 0) return;
    results->first_mismatch = *mismatch;
    results->mismatch_rank = worker->rank;
    results->mismatch_n = worker->n;
    results->mismatch_row =
        driver->row_name ? driver->row_name(expected->oracle, mismatch->array, mismatch->element)
                         : NULL;
    if (driver->remark)
        driver->remark(expected->oracle, mismatch, first, count, chunk, results->mismatch_remark);
    results->mismatch_phase = expected->phase;
    results->mismatch_repetition = expected->repetition;
}

/* A chunk of count elements from element first on, which has been read. */
static void compare_chunk(const struct numalab_worker *worker,
                          const struct numalab_expected *expected, size_t array, size_t first,
                          size_t count, const void *chunk, struct numalab_results *results)
{
    struct numalab_mismatch mismatch = {0};
    const size_t mismatches =
        expected->driver->compare(expected->oracle, array, first, count, chunk, &mismatch);
    if (mismatches > 0) note_mismatch(worker, expected, &mismatch, first, count, chunk, results);
    results->mismatches += mismatches;
    results->checked += count;
}

int numalab_results_compare(struct numalab_worker *worker, const struct numalab_expected *expected,
                            size_t array, size_t first, size_t count,
                            struct numalab_results *results)
{
    static _Alignas(CHUNK_ALIGNMENT) unsigned char chunk[CHUNK_BYTES];
    const size_t element_bytes = expected->driver->arrays[array].element_bytes;
    const size_t chunk_elements = CHUNK_BYTES / element_bytes;

    while (count > 0) {
        size_t part = count < chunk_elements ? count : chunk_elements;
        if (numalab_worker_is_cancelled(worker))
            return numalab_worker_fail_as(worker, NUMALAB_CANCELLED);
        if (numalab_worker_read_or_fail(worker, worker->address[array] + first * element_bytes,
                                        chunk, part * element_bytes) < 0)
            return -1;
        compare_chunk(worker, expected, array, first, part, chunk, results);
        first += part;
        count -= part;
    }
    return 0;
}

/* ---- a whole array, by several threads ---------------------------------------------- */

/* Consecutive elements of an array, and what a thread has found in them. */
struct part {
    const struct numalab_worker *worker;
    const struct numalab_expected *expected;
    size_t array, first, count;
    pthread_t thread;
    bool has_thread, is_done;
    struct numalab_results results;
};

/* Ends early where something is amiss; whoever goes over the part again finds out what. */
static void *compare_part(void *argument)
{
    struct part *part = argument;
    const struct numalab_worker *worker = part->worker;
    const size_t element_bytes = part->expected->driver->arrays[part->array].element_bytes;
    const size_t most = CHUNK_BYTES / element_bytes, end = part->first + part->count;
    void *chunk = aligned_alloc(CHUNK_ALIGNMENT, CHUNK_BYTES);
    size_t first = part->first;
    while (chunk && first < end && !numalab_worker_is_cancelled(worker)) {
        const size_t count = end - first < most ? end - first : most;
        const uint64_t address = worker->address[part->array] + first * element_bytes;
        if (numalab_worker_read(worker, address, chunk, count * element_bytes) < 0) break;
        compare_chunk(worker, part->expected, part->array, first, count, chunk, &part->results);
        first += count;
    }
    free(chunk);
    part->is_done = first == end;
    return NULL;
}

/* Adds what was found in elements that come behind all of results'. */
static void add_results(struct numalab_results *results, const struct numalab_results *more)
{
    const uint64_t checked = results->checked + more->checked;
    const uint64_t mismatches = results->mismatches + more->mismatches;
    if (results->mismatches == 0 && more->mismatches > 0) {
        results->first_mismatch = more->first_mismatch;
        results->mismatch_rank = more->mismatch_rank;
        results->mismatch_n = more->mismatch_n;
        results->mismatch_row = more->mismatch_row;
        memcpy(results->mismatch_remark, more->mismatch_remark, sizeof results->mismatch_remark);
        results->mismatch_phase = more->mismatch_phase;
        results->mismatch_repetition = more->mismatch_repetition;
    }
    results->checked = checked;
    results->mismatches = mismatches;
}

/* most: into how many parts that are worth a thread it can be shared out. */
static size_t parts_of(uint64_t most)
{
    cpu_set_t usable;
    size_t count = (size_t)most;
    if (sched_getaffinity(0, sizeof usable, &usable) < 0) return 1;
    if (count > (size_t)CPU_COUNT(&usable)) count = (size_t)CPU_COUNT(&usable);
    if (count > MOST_PARTS) count = MOST_PARTS;
    return count < 1 ? 1 : count;
}

int numalab_results_compare_array(struct numalab_worker *worker,
                                  const struct numalab_expected *expected, size_t array,
                                  struct numalab_results *results)
{
    const size_t count = worker->count[array],
                 parts = parts_of(worker->bytes[array] / LEAST_PART_BYTES);
    struct part part[MOST_PARTS];
    if (parts == 1) return numalab_results_compare(worker, expected, array, 0, count, results);

    for (size_t i = 0; i < parts; i++) {
        const size_t first = count / parts * i,
                     end = i + 1 < parts ? count / parts * (i + 1) : count;
        part[i] = (struct part){.worker = worker,
                                .expected = expected,
                                .array = array,
                                .first = first,
                                .count = end - first};
        part[i].has_thread = pthread_create(&part[i].thread, NULL, compare_part, &part[i]) == 0;
    }
    for (size_t i = 0; i < parts; i++)
        if (part[i].has_thread) pthread_join(part[i].thread, NULL);
    for (size_t i = 0; i < parts; i++) {
        if (part[i].is_done)
            add_results(results, &part[i].results);
        else if (numalab_results_compare(worker, expected, array, part[i].first, part[i].count,
                                         results) < 0)
            return -1;
    }
    return 0;
}

/* ---- between repetitions -------------------------------------------------------------- */

void numalab_changes_free(struct numalab_changes *changes)
{
    free(changes->list);
    *changes = (struct numalab_changes){0};
}

/* How many elements are changed where arrays have n. */
static size_t change_count(const struct numalab_driver *driver, size_t n)
{
    const size_t count = driver->elements_per_change ? n / driver->elements_per_change : 0;
    if (count > NUMALAB_MOST_CHANGES) return NUMALAB_MOST_CHANGES;
    return count < NUMALAB_LEAST_CHANGES ? NUMALAB_LEAST_CHANGES : count;
}

static int make_room(struct numalab_changes *changes, size_t count)
{
    changes->count = 0;
    if (count <= changes->room) return 0;
    struct numalab_change *list = realloc(changes->list, count * sizeof *list);
    if (!list) return -ENOMEM;
    changes->list = list;
    changes->room = count;
    return 0;
}

/* In each of count equal parts of n elements one, in arrays of some hundred anywhere. */
static size_t position_of(size_t i, size_t count, size_t n, uint64_t random)
{
    if (n < 2 * count) return (size_t)random;
    const size_t first = (size_t)((uint64_t)i * n / count);
    return first + (size_t)(random % ((uint64_t)(i + 1) * n / count - first));
}

int numalab_results_draw_changes(const struct numalab_driver *driver, struct numalab_oracle *oracle,
                                 struct numalab_random *random, size_t n,
                                 struct numalab_changes *changes)
{
    const size_t count = driver->renew ? 0 : change_count(driver, n);
    if (make_room(changes, count) < 0) return -ENOMEM;
    if (driver->renew) driver->renew(oracle, numalab_random_next(random));
    for (size_t i = 0; i < count; i++) {
        uint64_t position = numalab_random_next(random);
        const uint64_t value = numalab_random_next(random);
        if (driver->elements_per_change) position = position_of(i, count, n, position);
        const int error = driver->change(oracle, position, value, &changes->list[i]);
        if (error < 0) return error;
        changes->count++;
    }
    return 0;
}

/* Arrays whose every element is new. */
static int write_renewed(struct numalab_worker *worker, const struct numalab_driver *driver,
                         const struct numalab_oracle *oracle)
{
    for (size_t array = 0; driver->renewed && array < driver->array_count; array++) {
        const void *values = driver->renewed(oracle, array);
        if (values && numalab_worker_write_or_fail(worker, worker->address[array], values,
                                                   worker->bytes[array]) < 0)
            return -1;
    }
    return 0;
}

/* Some of the changes, and whether a thread has made them. */
struct writing {
    struct numalab_worker *worker;
    const struct numalab_driver *driver;
    struct numalab_change *list;
    size_t count;
    pthread_t thread;
    bool has_thread, is_done;
};

enum { MOST_AT_ONCE = 512 };

/* Where the next changes come from and go to, MOST_AT_ONCE at most. Returns how many. */
static size_t aim(const struct writing *writing, size_t first, struct iovec *local,
                  struct iovec *remote)
{
    const size_t left = writing->count - first, count = left < MOST_AT_ONCE ? left : MOST_AT_ONCE;
    for (size_t i = 0; i < count; i++) {
        struct numalab_change *change = &writing->list[first + i];
        const size_t bytes = writing->driver->arrays[change->array].element_bytes;
        const uint64_t address = writing->worker->address[change->array] + change->element * bytes;
        local[i] = (struct iovec){change->value, bytes};
        remote[i] = (struct iovec){(void *)(uintptr_t)address, bytes};
    }
    return count;
}

/* is_noted: as the worker's outcome, where it goes wrong. Returns 0, or -1 at the first that did.
 */
static int write_part(const struct writing *writing, bool is_noted)
{
    struct iovec local[MOST_AT_ONCE], remote[MOST_AT_ONCE];
    size_t first = 0, count = 0;
    for (; first < writing->count; first += count) {
        count = aim(writing, first, local, remote);
        const int error =
            is_noted ? numalab_worker_write_vector_or_fail(writing->worker, local, remote, count)
                     : numalab_worker_write_vector(writing->worker, local, remote, count);
        if (error < 0) return -1;
    }
    return 0;
}

/* Whoever makes the changes again finds out what was amiss. */
static void *write_alone(void *argument)
{
    struct writing *writing = argument;
    writing->is_done = write_part(writing, false) == 0;
    return NULL;
}

/* By several threads: each change is to a page of its own, which takes a microsecond to reach. */
int numalab_results_write_changes(struct numalab_worker *worker,
                                  const struct numalab_driver *driver,
                                  const struct numalab_oracle *oracle,
                                  const struct numalab_changes *changes)
{
    struct writing writing[MOST_PARTS];
    const size_t parts = parts_of(changes->count / LEAST_PART_CHANGES);
    if (write_renewed(worker, driver, oracle) < 0) return -1;
    if (changes->count == 0) return 0;
    for (size_t i = 0; i < parts; i++) {
        const size_t first = changes->count * i / parts, end = changes->count * (i + 1) / parts;
        writing[i] = (struct writing){.worker = worker,
                                      .driver = driver,
                                      .list = changes->list + first,
                                      .count = end - first};
        writing[i].has_thread =
            i > 0 && pthread_create(&writing[i].thread, NULL, write_alone, &writing[i]) == 0;
    }
    write_alone(&writing[0]);
    for (size_t i = 1; i < parts; i++)
        if (writing[i].has_thread) pthread_join(writing[i].thread, NULL);
    for (size_t i = 0; i < parts; i++)
        if (!writing[i].is_done && write_part(&writing[i], true) < 0) return -1;
    return 0;
}

/* Compares the page of every array that holds an element, or what of it is looked at. */
static int compare_place(struct numalab_worker *worker, const struct numalab_expected *expected,
                         size_t element, struct numalab_results *results)
{
    for (size_t array = 0; array < expected->driver->array_count; array++) {
        const size_t few = expected->driver->spot_elements[array];
        const size_t per_page =
            (size_t)sysconf(_SC_PAGESIZE) / expected->driver->arrays[array].element_bytes;
        const size_t at_once = few ? few : per_page;
        const size_t first = element / at_once * at_once;
        if (first >= worker->count[array]) continue;
        const size_t left = worker->count[array] - first;
        if (numalab_results_compare(worker, expected, array, first, left < at_once ? left : at_once,
                                    results) < 0)
            return -1;
    }
    return 0;
}

int numalab_results_spot_check(struct numalab_worker *worker,
                               const struct numalab_expected *expected,
                               struct numalab_random *random, const struct numalab_changes *changes,
                               struct numalab_results *results)
{
    for (size_t i = 0; changes->count && i < NUMALAB_SPOT_CHANGES; i++) {
        /* Where they are few, each. */
        const size_t k = changes->count > NUMALAB_SPOT_CHANGES
                             ? (size_t)(numalab_random_next(random) % changes->count)
                             : i;
        if (k < changes->count &&
            compare_place(worker, expected, changes->list[k].element, results) < 0)
            return -1;
    }
    size_t most = 0;
    for (size_t array = 0; array < expected->driver->array_count; array++) {
        const size_t count = worker->count[array];
        if (count > most) most = count;
        /* A single result is nobody's random page. */
        if (worker->bytes[array] < (size_t)sysconf(_SC_PAGESIZE) &&
            numalab_results_compare(worker, expected, array, 0, count, results) < 0)
            return -1;
    }
    /* Of arrays whose every element has changed no place is in a list. */
    const size_t places = NUMALAB_SPOT_PLACES + (changes->count ? 0 : NUMALAB_SPOT_CHANGES);
    for (size_t i = 0; most && i < places; i++) {
        const size_t element = (size_t)(numalab_random_next(random) % most);
        if (compare_place(worker, expected, element, results) < 0) return -1;
    }
    return 0;
}
