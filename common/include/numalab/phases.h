/* What a lab tells the worker: the phases that call the student's kernel.
 *
 * phases.c of each lab defines numalab_phases and is linked into every worker
 * program of that lab, beside the kernel. It knows how to call the kernel and
 * nothing else; whatever knows the right answer belongs to driver.c. */
#ifndef NUMALAB_PHASES_H
#define NUMALAB_PHASES_H

#include <stddef.h>

struct numalab_phase {
    const char *name;
    /* n: problem size; arrays: start of each array, in the order in which driver.c
     * lists them; where the kernel makes the arrays, a phase sets them. Called on the
     * worker's main thread. */
    void (*run)(size_t n, void **arrays);
};

/* The length of a cache line of this machine, in bytes, as the monitor says. */
size_t numalab_line_bytes(void);

/* Ends with an entry whose name is NULL. */
extern const struct numalab_phase numalab_phases[];

#endif
