/* The in-process touch map, for systems that refuse userfaultfd: every page is protected, and the
 * SIGSEGV of its first access shows the thread. It is recorded in the student's own process, so the
 * record marks it `in_process`. */
#ifndef NUMALAB_WORKER_TRAP_H
#define NUMALAB_WORKER_TRAP_H

#include <stdatomic.h>
#include <stdbool.h>

#include "arrays.h"
#include "protocol.h"

struct numalab_trap {
    atomic_bool armed;
    bool writes_only; /* a read opens the page for reading only */
    size_t page_bytes;
    struct numalab_trap_entry *log; /* one for each page and kind of access */
    size_t log_capacity;
    _Atomic size_t log_count;
    const struct numalab_arrays *arrays;
};

/* Protects every page of the arrays. With traps_writes the first write to each page is recorded,
 * and the first read before it; otherwise the first access of any kind. Returns 0 or a negative
 * errno. */
int numalab_trap_arm(struct numalab_trap *trap, const struct numalab_arrays *arrays,
                     bool traps_writes);

/* Opens all pages; returns the number of entries in the log. */
size_t numalab_trap_disarm(struct numalab_trap *trap, const struct numalab_arrays *arrays);

/* Called from the SIGSEGV handler. Returns true if the access was to a protected page: it is
 * recorded and may now be repeated. is_write: 1, 0 or -1 (unknown, taken as a write). */
bool numalab_trap_handle(struct numalab_trap *trap, void *address, int is_write);

#endif
