#include "activity_sampler.h"

#include <errno.h>
#include <stdlib.h>

#include "monitor/processes/worker_process.h"

/* More CPU time than a thread takes that works until it comes to a closed page, with all that a
 * runtime does for it; the system counts that of a running thread by its ticks, 10 ms at most. */
static const double other_work_s = 1e-3;

/* How long somebody who gets no core is waited for. */
static const double most_wait_s = 30e-3;

int numalab_activity_sampler_init(struct numalab_activity_sampler *sampler, pid_t pid,
                                  const struct numalab_threads *threads)
{
    *sampler = (struct numalab_activity_sampler){.pid = pid};
    sampler->entry = calloc(threads->count + 1, sizeof *sampler->entry);
    if (!sampler->entry) return -ENOMEM;
    sampler->count = threads->count;
    for (size_t i = 0; i < sampler->count; i++) sampler->entry[i].id = threads->list[i].id;
    return 0;
}

void numalab_activity_sampler_free(struct numalab_activity_sampler *sampler)
{
    free(sampler->entry);
    *sampler = (struct numalab_activity_sampler){0};
}

void numalab_activity_sampler_begin(struct numalab_activity_sampler *sampler)
{
    for (size_t i = 0; i < sampler->count; i++) {
        sampler->entry[i].cpu_s = numalab_threads_cpu_s(sampler->pid, sampler->entry[i].id);
        sampler->entry[i].is_known = false;
    }
    sampler->is_pending = true;
    sampler->end_s = numalab_now_s() + most_wait_s;
}

void numalab_activity_sampler_note(struct numalab_activity_sampler *sampler, pid_t id)
{
    for (size_t i = 0; i < sampler->count; i++) {
        struct numalab_thread_activity *entry = &sampler->entry[i];
        if (entry->id != id || entry->is_known) continue;
        entry->is_known = true;
        entry->active_samples++;
    }
}

bool numalab_activity_sampler_update(struct numalab_activity_sampler *sampler)
{
    bool is_complete = true;
    if (!sampler->is_pending) return false;
    for (size_t i = 0; i < sampler->count; i++) {
        struct numalab_thread_activity *entry = &sampler->entry[i];
        if (entry->is_known) continue;
        if (numalab_threads_cpu_s(sampler->pid, entry->id) - entry->cpu_s >= other_work_s) {
            entry->is_known = true;
            entry->other_samples++;
        } else if (numalab_threads_is_runnable(sampler->pid, entry->id)) {
            is_complete = false;
        }
    }
    sampler->is_pending = !is_complete && numalab_now_s() < sampler->end_s;
    return sampler->is_pending;
}
