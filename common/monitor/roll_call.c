#include "roll_call.h"

#include <errno.h>
#include <stdlib.h>

#include "monitor/processes/worker_process.h"

/* More CPU time than a thread takes that works until it comes to a closed page, with all that a
 * runtime does for it; the system counts that of a running thread by its ticks, 10 ms at most. */
static const double busy_s = 1e-3;

/* How long somebody who gets no core is waited for. */
static const double most_wait_s = 30e-3;

int numalab_roll_make(struct numalab_roll *roll, pid_t pid, const struct numalab_threads *threads)
{
    *roll = (struct numalab_roll){.pid = pid};
    roll->entry = calloc(threads->count + 1, sizeof *roll->entry);
    if (!roll->entry) return -ENOMEM;
    roll->count = threads->count;
    for (size_t i = 0; i < roll->count; i++) roll->entry[i].id = threads->list[i].id;
    return 0;
}

void numalab_roll_free(struct numalab_roll *roll)
{
    free(roll->entry);
    *roll = (struct numalab_roll){0};
}

void numalab_roll_begin(struct numalab_roll *roll)
{
    for (size_t i = 0; i < roll->count; i++) {
        roll->entry[i].cpu_s = numalab_threads_cpu_s(roll->pid, roll->entry[i].id);
        roll->entry[i].is_known = false;
    }
    roll->is_open = true;
    roll->end_s = numalab_now_s() + most_wait_s;
}

void numalab_roll_comes(struct numalab_roll *roll, pid_t id)
{
    for (size_t i = 0; i < roll->count; i++) {
        struct numalab_roll_entry *entry = &roll->entry[i];
        if (entry->id != id || entry->is_known) continue;
        entry->is_known = true;
        entry->works++;
    }
}

bool numalab_roll_waits(struct numalab_roll *roll)
{
    bool is_complete = true;
    if (!roll->is_open) return false;
    for (size_t i = 0; i < roll->count; i++) {
        struct numalab_roll_entry *entry = &roll->entry[i];
        if (entry->is_known) continue;
        if (numalab_threads_cpu_s(roll->pid, entry->id) - entry->cpu_s >= busy_s) {
            entry->is_known = true;
            entry->busy_else++;
        } else if (numalab_threads_is_runnable(roll->pid, entry->id)) {
            is_complete = false;
        }
    }
    roll->is_open = !is_complete && numalab_now_s() < roll->end_s;
    return roll->is_open;
}
