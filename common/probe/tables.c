#define _GNU_SOURCE
#include "tables.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "numalab/random.h"

enum { CACHE_LINE_BYTES = 64 };

/* ---- random orders ------------------------------------------------------------------ */

/* From 0 to count - 1, which fits in 32 bits. */
static size_t random_below(uint64_t *state, size_t count)
{
    return (size_t)((numalab_splitmix(state) >> 32) * count >> 32);
}

static void shuffle(uint32_t *order, size_t count, uint64_t *state)
{
    for (size_t left = count; left > 1; left--) {
        const size_t other = random_below(state, left);
        const uint32_t kept = order[left - 1];
        order[left - 1] = order[other];
        order[other] = kept;
    }
}

/* The numbers below count in random order; the caller frees them. NULL: no memory. */
static uint32_t *random_order(size_t count, uint64_t seed)
{
    uint32_t *order = malloc(count * sizeof *order);
    if (!order) return NULL;
    for (size_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    shuffle(order, count, &seed);
    return order;
}

/* ---- first touch -------------------------------------------------------------------- */

static uint64_t page_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_minflt;
}

/* What the kernel does for this process counts, and what others do beside it does not. */
static double cpu_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int probe_first_touch(const struct probe_memory *table, const struct probe_task *task,
                      struct probe_first_touch *result)
{
    const size_t page_bytes = probe_page_bytes(), pages = table->bytes / page_bytes;
    uint32_t *order = random_order(pages, task->seed);
    if (!order) return -ENOMEM;
    volatile char *start = table->start;
    const uint64_t before = page_faults();
    const double start_s = cpu_s();
    for (size_t i = 0; i < pages; i++) start[order[i] * page_bytes] = 0;
    result->cpu_s = cpu_s() - start_s;
    result->page_faults = page_faults() - before;
    free(order);
    return 0;
}

/* ---- independent -------------------------------------------------------------------- */

/* The highest bits of a linear congruential generator (Knuth's MMIX), which are its best. */
static uint64_t update(const struct probe_memory *table, uint64_t updates, uint64_t random)
{
    const unsigned shift = 64 - (unsigned)__builtin_ctzll(table->bytes / sizeof(uint64_t));
    uint64_t *const elements = table->start;
    for (uint64_t done = 0; done < updates; done++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        elements[random >> shift] += 1;
    }
    return random;
}

int probe_update(const struct probe_memory *table, const struct probe_task *task,
                 struct probe_times *times)
{
    const uint64_t before = PROBE_STRETCHES / 2 * task->steps;
    times->steps = task->steps;
    /* Half a repetition before the timed ones brings caches and TLB to what they will be. */
    uint64_t random = update(table, before, task->seed);
    for (size_t i = 0; i < task->repetitions; i++) {
        double least_s = INFINITY;
        for (size_t stretch = 0; stretch < PROBE_STRETCHES; stretch++) {
            const double start_s = probe_now_s();
            random = update(table, task->steps, random);
            least_s = fmin(least_s, probe_now_s() - start_s);
        }
        times->elapsed_s[i] = least_s;
    }
    const uint64_t *elements = table->start;
    const uint64_t expected = before + task->repetitions * PROBE_STRETCHES * task->steps;
    uint64_t sum = 0;
    for (size_t i = 0; i < table->bytes / sizeof *elements; i++) sum += elements[i];
    if (sum == expected) return 0;
    fprintf(stderr, "the table is wrong: its sum is %llu, not %llu\n", (unsigned long long)sum,
            (unsigned long long)expected);
    return -EBADMSG;
}

/* ---- dependent ---------------------------------------------------------------------- */

static uint64_t *link_of(const struct probe_memory *table, const struct probe_task *task,
                         size_t number)
{
    size_t offset_bytes = number * CACHE_LINE_BYTES;
    if (!task->has_every_line) {
        uint64_t state = task->seed ^ number;
        const size_t page_bytes = probe_page_bytes();
        const size_t line = random_below(&state, page_bytes / CACHE_LINE_BYTES);
        offset_bytes = number * page_bytes + line * CACHE_LINE_BYTES;
    }
    return (uint64_t *)(void *)((char *)table->start + offset_bytes);
}

/* From a link on; returns the one that it comes to. Never inlined, so that no compiler sees that
 * it goes round in a circle. */
__attribute__((noinline)) static const uint64_t *chase(const uint64_t *link, size_t steps)
{
    for (; steps > 0; steps--) link = (const uint64_t *)(uintptr_t)*link;
    return link;
}

int probe_chase(const struct probe_memory *table, const struct probe_task *task,
                struct probe_times *times)
{
    const size_t link_bytes = task->has_every_line ? CACHE_LINE_BYTES : probe_page_bytes();
    const size_t links = table->bytes / link_bytes;
    uint32_t *order = random_order(links, ~task->seed);
    if (!order) return -ENOMEM;
    for (size_t i = 0; i < links; i++)
        *link_of(table, task, order[i]) = (uintptr_t)link_of(table, task, order[(i + 1) % links]);

    /* Never whole cycles, so that where a stretch ends tells whether all steps were made. */
    times->steps = task->steps % links ? task->steps : task->steps + links / 2;
    /* One cycle before the timed ones brings caches and TLB to what they will be. */
    size_t place = 0;
    const uint64_t *link = chase(link_of(table, task, order[0]), links);
    bool is_right = link == link_of(table, task, order[0]);
    for (size_t i = 0; is_right && i < task->repetitions; i++) {
        double least_s = INFINITY;
        for (size_t stretch = 0; is_right && stretch < PROBE_STRETCHES; stretch++) {
            const double start_s = probe_now_s();
            link = chase(link, times->steps);
            least_s = fmin(least_s, probe_now_s() - start_s);
            place = (place + times->steps) % links;
            is_right = link == link_of(table, task, order[place]);
        }
        times->elapsed_s[i] = least_s;
    }
    free(order);
    if (is_right) return 0;
    fprintf(stderr, "the chase is wrong: it left its cycle through %zu links\n", links);
    return -EBADMSG;
}
