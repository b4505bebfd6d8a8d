#include "slots.h"

#include <errno.h>
#include <stdlib.h>

/* As phases write an element of the driver's array of slots. */
struct reported_slot {
    uint64_t first, length, is_on_stack;
};

/* Of one thread in one line. */
struct part {
    uint64_t line, keys;
    size_t slot;
};

static int compare_begins(const void *first, const void *second)
{
    const struct numalab_slot *a = first, *b = second;
    return (a->first > b->first) - (a->first < b->first);
}

static int compare_lines(const void *first, const void *second)
{
    const struct part *a = first, *b = second;
    if (a->line != b->line) return a->line < b->line ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

/* Keeps those that can be read. */
static void read_counters(const struct numalab_worker *worker, size_t length,
                          const struct reported_slot *reported, size_t count,
                          struct numalab_slots *slots)
{
    for (size_t i = 0; i < count; i++) {
        struct numalab_slot *slot = &slots->slot[slots->kept];
        if (reported[i].length == 0) continue;
        slots->count++;
        slots->stack_count += reported[i].is_on_stack != 0;
        if (reported[i].length != length) {
            slots->bad_lengths++;
        } else if (numalab_worker_read(worker, reported[i].first, slot->counter,
                                       length * sizeof *slot->counter) < 0) {
            slots->unreadable++;
        } else {
            slot->first = reported[i].first;
            slots->kept++;
        }
    }
    qsort(slots->slot, slots->kept, sizeof *slots->slot, compare_begins);
}

/* sum: of each counter, over all that were read. */
static void add_up(struct numalab_slots *slots, size_t length, int64_t *sum)
{
    for (size_t i = 0; i < slots->kept; i++) {
        uint64_t held = 0;
        for (size_t k = 0; k < length; k++) {
            sum[k] = (int64_t)((uint64_t)sum[k] + (uint64_t)slots->slot[i].counter[k]);
            held += (uint64_t)slots->slot[i].counter[k];
        }
        if (i == 0 || (int64_t)held < slots->least) slots->least = (int64_t)held;
        if (i == 0) continue;
        const uint64_t apart = slots->slot[i].first - slots->slot[i - 1].first;
        if (apart > slots->most_apart_bytes) slots->most_apart_bytes = apart;
    }
}

/* By what is in the counters: each key was one store to one of them. Returns 0 or -ENOMEM. */
static int find_shared(struct numalab_slots *slots, size_t length, size_t line_bytes)
{
    const size_t count = slots->kept * length;
    struct part *part = calloc(count + 1, sizeof *part);
    if (!part) return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        const struct numalab_slot *slot = &slots->slot[i / length];
        const int64_t keys = slot->counter[i % length];
        part[i] = (struct part){(slot->first + i % length * sizeof keys) / line_bytes,
                                keys > 0 ? (uint64_t)keys : 0, i / length};
    }
    qsort(part, count, sizeof *part, compare_lines);
    for (size_t i = 0; i < count;) {
        const uint64_t line = part[i].line;
        uint64_t keys = 0, most = 0;
        while (i < count && part[i].line == line) {
            const size_t slot = part[i].slot;
            uint64_t own = 0;
            for (; i < count && part[i].line == line && part[i].slot == slot; i++)
                own += part[i].keys;
            keys += own;
            if (own > most) most = own;
        }
        slots->shared_keys += keys - most;
    }
    free(part);
    return 0;
}

static int read_slots(struct numalab_worker *worker, const struct numalab_driver *driver,
                      const struct numalab_oracle *oracle, const struct reported_slot *reported,
                      size_t threads, size_t line_bytes, struct numalab_slots *slots)
{
    const size_t length = driver->counting->length;
    if (length > NUMALAB_MOST_COUNTERS)
        return numalab_worker_kit_error(worker, "add up so many counters", -E2BIG);
    int64_t sum[NUMALAB_MOST_COUNTERS] = {0};
    struct numalab_mismatch mismatch;
    read_counters(worker, length, reported, threads, slots);
    add_up(slots, length, sum);
    slots->sums_match =
        driver->compare(oracle, driver->counting->sums, 0, length, sum, &mismatch) == 0;
    const int error = find_shared(slots, length, line_bytes);
    return error < 0 ? numalab_worker_kit_error(worker, "look at the slots", error) : 0;
}

int numalab_slots_read(struct numalab_worker *worker, const struct numalab_driver *driver,
                       const struct numalab_oracle *oracle, size_t threads, size_t line_bytes,
                       struct numalab_slots *slots)
{
    struct reported_slot *reported = calloc(threads, sizeof *reported);
    *slots = (struct numalab_slots){.slot = calloc(threads, sizeof *slots->slot)};
    int failed = -1;
    if (!reported || !slots->slot)
        numalab_worker_kit_error(worker, "look at the slots", -ENOMEM);
    else if (numalab_worker_run(worker, driver->counting->slots_phase, NULL) == 0 &&
             numalab_worker_stop(worker) == 0 &&
             numalab_worker_read_or_fail(worker, worker->address[driver->counting->slots], reported,
                                         threads * sizeof *reported) == 0 &&
             read_slots(worker, driver, oracle, reported, threads, line_bytes, slots) == 0)
        failed = numalab_worker_continue(worker);
    free(reported);
    return failed;
}

void numalab_slots_free(struct numalab_slots *slots)
{
    free(slots->slot);
    *slots = (struct numalab_slots){0};
}

json_t *numalab_slots_describe(const struct numalab_slots *slots)
{
    return json_pack("{sI sI sI sI sI sb sI sI}", "count", (json_int_t)slots->count, "bad_lengths",
                     (json_int_t)slots->bad_lengths, "on_stack", (json_int_t)slots->stack_count,
                     "unreadable", (json_int_t)slots->unreadable, "least_keys",
                     (json_int_t)slots->least, "sums_right", (int)slots->sums_match,
                     "most_apart_bytes", (json_int_t)slots->most_apart_bytes, "shared_keys",
                     (json_int_t)slots->shared_keys);
}
